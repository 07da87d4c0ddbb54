import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareVersions, parseVersion, type Version } from './version.ts'

const version = (text: string): Version => parseVersion(text) ?? assert.fail(`${text} is not a version`)

const ascending = [
  [
    '0.9',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta.2',
    '1.0.0-beta.10',
    '1.0.0-rc.1',
    '1.0.0',
    '1.0.1',
    '1.10',
    'v2',
  ],
  ['6.1.0-18-amd64', '6.1.0-20-amd64', '6.2.0-rc1', '6.2.0'],
  ['10.0.19045.3803', '10.0.22631', '10.0.99999999999999999999998', '10.0.99999999999999999999999'],
]
for (const list of ascending) {
  test(`${list.join(' < ')}`, () => {
    for (const [i, a] of list.entries()) {
      for (const [j, b] of list.entries())
        assert.equal(Math.sign(compareVersions(version(a), version(b))), Math.sign(i - j), `${a} ${b}`)
    }
  })
}

test('a missing number is 0, and a build does not count', () => {
  for (const other of ['14.2.0', '14.02', '14.2 (23C64)', '14.2+build.7', '14.2-arm64']) {
    assert.equal(compareVersions(version('14.2'), version(other)), 0, other)
  }
})

test('malformed versions are refused', () => {
  for (const text of ['', 'v', '22H2', 'latest', '1..2', '.1', '1.', '-1', '1_0'])
    assert.equal(parseVersion(text), null, text)
})

test('the comparison of versions is a total order', () => {
  const part = fc.constantFrom('0', '1', '01', '2', '10', '999999999999999999999')
  const suffix = fc.constantFrom('', '-rc', '-rc.1', '-rc.10', '-rc.1a', '-rc.a.1', '-beta', '-amd64', '+7')
  const any = fc
    .tuple(fc.array(part, { minLength: 1, maxLength: 3 }), suffix)
    .map(([parts, s]) => version(parts.join('.') + s))
  fc.assert(
    fc.property(any, any, any, (a, b, c) => {
      const order = (x: Version, y: Version): number => Math.sign(compareVersions(x, y))
      assert.equal(order(a, b) + order(b, a), 0)
      if (order(a, b) <= 0 && order(b, c) <= 0) assert.ok(order(a, c) <= 0)
    }),
    { numRuns: 2_000 },
  )
})
