import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareVersions, versionPattern } from './semver.ts'

const isVersion = (text: string) => new RegExp(versionPattern).test(text)

test('versions are ordered by Semantic Versioning 2.0.0 §11', () => {
  const ordered = [
    ...['0.0.1', '0.9.9', '1.0.0-0', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta'],
    ...['1.0.0-beta.2', '1.0.0-beta.11', '1.0.0-rc.1', '1.0.0', '1.0.10', '1.2.0', '1.10.0', '2.0.0', '10.0.0'],
  ]
  for (const [i, a] of ordered.entries())
    for (const [j, b] of ordered.entries())
      assert.equal(Math.sign(compareVersions(a, b)), Math.sign(i - j), `${a} ${b}`)
})

test('a malformed version and one with build metadata are refused', () => {
  for (const text of [
    '1',
    '1.2',
    '01.2.3',
    '1.2.3.4',
    '1.2.3+5',
    '1.2.3-',
    '1.2.3-01',
    '1.2.3-a..b',
    'v1.2.3',
    '1.2.3 ',
  ])
    assert.equal(isVersion(text), false, text)
  for (const text of ['0.0.0', '1.2.3', '1.2.3-rc.1', '1.2.3-0a', '1.2.3--', '999999999.0.0'])
    assert.equal(isVersion(text), true, text)
})

test('the comparison of two versions is antisymmetric and consistent', () => {
  const part = fc.nat({ max: 12 }).map(String)
  const tail = fc.array(fc.oneof(part, fc.constantFrom('a', 'rc', 'beta', '0a', '-')), { maxLength: 3 })
  const version = fc
    .tuple(part, part, part, tail)
    .map(([a, b, c, t]) => `${a}.${b}.${c}${t.length > 0 ? `-${t.join('.')}` : ''}`)
  fc.assert(
    fc.property(version, version, (a, b) => {
      assert.ok(isVersion(a), a)
      assert.equal(Math.sign(compareVersions(a, b)) + Math.sign(compareVersions(b, a)), 0)
      assert.equal(compareVersions(a, b) === 0, a === b)
    }),
  )
})
