import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { unknownPage } from './all-pages.ts'
import { safeNext, withoutLastSlash } from './next-path.ts'

test('a path of this site is kept', () => {
  for (const path of ['/admin', '/admin/devices?status=active#top', '/']) assert.equal(safeNext(path), path)
  assert.equal(safeNext('/admin/ü'), '/admin/%C3%BC')
})

test('a path that could lead to another site is refused', () => {
  const hostile = [
    '',
    'admin',
    '//evil.example',
    '/\\evil.example',
    '\\/evil.example',
    'https://evil.example',
    '/..//evil.example',
  ]
  const more = [
    '/./\\evil.example',
    '/\t/evil.example',
    '/a\r\nSet-Cookie: x',
    'javascript:alert(1)',
    ' /admin',
    '/%5c/\\x',
  ]
  for (const next of [undefined, ...hostile, ...more]) assert.equal(safeNext(next), undefined, JSON.stringify(next))
})

test('no input leads to another site', () => {
  const piece = fc.constantFrom('/', '\\', '.', '..', '@', ':', 'evil.example', '?', '#', '\t', '%2f', 'https')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const path = safeNext(`/${pieces.join('')}`)
      return path === undefined || new URL(path, 'https://vpn.example').origin === 'https://vpn.example'
    }),
  )
})

test('a browser at an unknown page returns there after the sign-in, and to no other host', () => {
  const leadsTo = (url: string) => unknownPage({ url, requestId: 'x', isSignedIn: false }).headers.location
  assert.equal(leadsTo('/admin/devices?q=a'), '/admin/login?next=%2Fadmin%2Fdevices%3Fq%3Da')
  for (const url of ['//evil.test/', '/\\evil.test', '/admin/../..//evil.test', `/admin/${'x'.repeat(2000)}`])
    assert.equal(leadsTo(url), '/admin/login', url)
})

test('trailing slashes of a path below /admin are removed, in linear time', () => {
  for (const [url, tidy] of [
    ['/admin/', '/admin'],
    ['/admin///', '/admin'],
    ['/admin/devices//?a=/', '/admin/devices?a=/'],
    ['/admin/devices/?a=b?c/', '/admin/devices?a=b?c/'],
    ['/admin', undefined],
    ['/admin/devices', undefined],
    ['/admin/devices?a=/', undefined],
    ['/administration/', undefined],
    ['/other/', undefined],
    ['/admin//\\evil.example/', undefined],
  ] as const)
    assert.equal(withoutLastSlash(url), tidy, url)
  // A check that restarts at each slash would take minutes.
  const many = '/'.repeat(100_000)
  const since = performance.now()
  for (const url of [`/admin/devices?${many}x`, `/admin${many}x`, `/admin/devices?${'/?'.repeat(50_000)}x`])
    assert.ok(withoutLastSlash(url) === undefined)
  assert.ok(withoutLastSlash(`/admin${many}`) === '/admin')
  assert.ok(performance.now() - since < 5000)
})
