import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSourceOf } from './source-ip.ts'

const proxies = ['192.0.2.1', '2001:db8:ffff::/48']
const logged: object[] = []
const sourceOf = createSourceOf(proxies, { warn: (o) => void logged.push(o) })
const from = (remoteAddress: string, forwarded?: string) =>
  sourceOf({
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    socket: { remoteAddress } as never,
  })

test('the source is the last address that is no trusted proxy, without port and brackets', () => {
  for (const [remote, forwarded, source] of [
    ['203.0.113.9', undefined, '203.0.113.9'],
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['192.0.2.1', undefined, '192.0.2.1'],
    ['192.0.2.1', '203.0.113.9', '203.0.113.9'],
    ['::ffff:192.0.2.1', '203.0.113.9', '203.0.113.9'],
    ['192.0.2.1', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['192.0.2.1', '198.51.100.1, 2001:db8:ffff::7', '198.51.100.1'],
    ['192.0.2.1', '203.0.113.9:51234', '203.0.113.9'],
    ['192.0.2.1', '198.51.100.1, 203.0.113.9:51234', '203.0.113.9'],
    ['192.0.2.1', '198.51.100.1:1,192.0.2.1:80', '198.51.100.1'],
    ['192.0.2.1', '[2001:db8::5]:443', '2001:db8::5'],
    ['192.0.2.1', '[2001:DB8:0::5]', '2001:db8::5'],
    ['192.0.2.1', '2001:db8::5', '2001:db8::5'],
    ['192.0.2.1', '198.51.100.1, [2001:db8:ffff::7]:9', '198.51.100.1'],
    ['192.0.2.1', '[::ffff:203.0.113.9]:51234', '203.0.113.9'],
    ['192.0.2.1', '203.0.113.9,', '203.0.113.9'],
    ['192.0.2.1', ', 203.0.113.9 ,\t, ', '203.0.113.9'],
    ['192.0.2.1', '198.51.100.1,,192.0.2.1', '198.51.100.1'],
    ['192.0.2.1', ' , ,', '192.0.2.1'],
    ['fe80::1%eth0', '203.0.113.9', 'fe80::1%eth0'],
  ] as const)
    assert.equal(from(remote, forwarded), source, `${remote} for ${forwarded}`)
  assert.deepEqual(logged, [])
})

test('a malformed forwarded address makes the proxy the source, and is logged once', () => {
  for (const forwarded of [
    ...['unknown', '_hidden', '', 'x, ,', '203.0.113.9:', '203.0.113.9:x', '203.0.113.9:65536', '203.0.113.9:1:2'],
    ...[
      '[203.0.113.9]:80',
      '[2001:db8::5',
      '2001:db8::5]',
      '[]',
      '[2001:db8::5]443',
      '256.1.1.1',
      '1.2.3',
      '0x1.2.3.4',
    ],
    ...['fe80::1%eth0', '[fe80::1%eth0]:443', '[2001:db8::5%1]', '203.0.113.9%eth0', '198.51.100.1, fe80::1%eth0'],
    ...[
      '"203.0.113.9"',
      'for=203.0.113.9',
      '198.51.100.1, unknown',
      `${'1'.repeat(5000)}`,
      '[[::1]]',
      'example.test:80',
    ],
  ])
    assert.equal(from('192.0.2.1', forwarded), '192.0.2.1', forwarded)
  assert.equal(from('192.0.2.1', 'unknown, [2001:db8:ffff::7]'), '2001:db8:ffff::7', 'of two proxies the farther one')
  assert.deepEqual(logged, [{ proxy: '192.0.2.1', element: 'unknown' }])
})
