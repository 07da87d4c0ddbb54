import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCidr, isPartOf, isWithin, sourceBlock } from './cidr.ts'

test('an address is contained only in a CIDR of its own family', () => {
  assert.equal(isWithin('10.1.2.3', ['192.168.0.0/16', '10.0.0.0/8']), true)
  assert.equal(isWithin('11.1.2.3', ['10.0.0.0/8']), false)
  assert.equal(isWithin('2001:db8::1', ['2001:db8::/32']), true)
  assert.equal(isWithin('2001:db8::1', ['0.0.0.0/0']), false)
  assert.equal(isWithin('::ffff:10.1.2.3', ['10.0.0.0/8']), true)
  assert.equal(isWithin('10.1.2.3', ['10.1.2.3']), true)
  assert.equal(isWithin('no address', ['0.0.0.0/0']), false)
  assert.equal(isWithin('10.1.2.3', []), false)
})

test('a CIDR is part of another if all of its addresses are', () => {
  const part: [string, string[]][] = [
    ['10.1.0.0/16', ['10.0.0.0/8']],
    ['10.0.0.0/8', ['192.0.2.0/24', '10.0.0.0/8']],
    ['10.1.2.3', ['10.1.2.3']],
    ['2001:db8:1::/48', ['2001:db8::/32']],
  ]
  for (const [cidr, cidrs] of part) assert.equal(isPartOf(cidr, cidrs), true, cidr)
  const beyond: [string, string[]][] = [
    ['10.0.0.0/7', ['10.0.0.0/8']],
    ['0.0.0.0/0', ['10.0.0.0/8', '192.0.2.0/24']],
    ['11.0.0.0/16', ['10.0.0.0/8']],
    ['::/0', ['0.0.0.0/0']],
    ['10.0.0.1', []],
  ]
  for (const [cidr, cidrs] of beyond) assert.equal(isPartOf(cidr, cidrs), false, cidr)
})

test('a CIDR must be in plain notation', () => {
  for (const good of ['10.0.0.0/8', '10.0.0.1', '::/0', '2001:db8::/128', '0.0.0.0/0'])
    assert.equal(isCidr(good), true, good)
  for (const bad of [
    '',
    '10.0/8',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/',
    '::/129',
    'fe80::1%eth0',
    '1.2.3.4/8/8',
    'x',
    '010.0.0.1',
  ])
    assert.equal(isCidr(bad), false, bad)
})

test('attempts from one IPv6 /64 count as one source', () => {
  assert.equal(sourceBlock('2001:db8:1:2:3:4:5:6'), sourceBlock('2001:db8:1:2::9'))
  assert.notEqual(sourceBlock('2001:db8:1:2::9'), sourceBlock('2001:db8:1:3::9'))
  assert.equal(sourceBlock('192.0.2.7'), '192.0.2.7')
  assert.equal(sourceBlock('::ffff:192.0.2.7'), '192.0.2.7')
})
