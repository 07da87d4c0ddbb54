import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { networkOf, parseAddress, parseNetwork } from './network.ts'
import { formatPorts, intersectPorts, parsePort, portsAsked, portsOf, subtractPorts } from './ports.ts'
import { parseTarget, textOfTarget } from './target.ts'

test('a network has one canonical spelling', () => {
  for (const [text, cidr] of [
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['10.1.2.3', '10.1.2.3/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['FD00:0:0::/64', 'fd00::/64'],
    ['2001:db8::1', '2001:db8::1/128'],
    ['::/0', '::/0'],
  ] as const) {
    assert.equal(networkOf(text).cidr, cidr)
  }
})

test('a malformed network is refused with the right form', () => {
  for (const text of [
    '',
    '10',
    '10.0.0',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '0x0a.0.0.1',
    '256.0.0.1',
    '10.0.0.1/8',
    'fe80::1%eth0',
    'fd00::/129',
    '::ffff:1.2.3.4',
    ' 10.0.0.1',
  ]) {
    assert.ok('problem' in parseNetwork(text), text)
  }
})

test('a network contains exactly the addresses that share its prefix', () => {
  const address = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
  fc.assert(
    fc.property(address, address, fc.nat(32), fc.boolean(), (a, b, prefix, near) => {
      const number = (parts: readonly number[]) => parts.reduce((n, part) => n * 256 + part, 0)
      const text = (n: number) => [24, 16, 8, 0].map((shift) => Math.floor(n / 2 ** shift) % 256).join('.')
      const block = 2 ** (32 - prefix)
      const first = Math.floor(number(a) / block) * block
      const asked = near ? first + (number(b) % block) : number(b)
      const { lo, hi } = networkOf(`${text(first)}/${prefix}`).range
      const point = parseAddress(text(asked)) ?? assert.fail()
      assert.equal(lo <= point && point <= hi, Math.floor(asked / block) * block === first)
    }),
  )
})

test('port lists behave as sets', () => {
  const entry = fc
    .tuple(fc.constantFrom('tcp', 'udp'), fc.integer({ min: 1, max: 12 }), fc.nat({ max: 4 }))
    .map(([p, from, more]) => `${p}/${from}-${from + more}`)
  const entries = fc.array(fc.oneof(entry, fc.constantFrom('icmp', 'tcp/3')), { minLength: 1, maxLength: 4 })
  const points = [...['tcp', 'udp'].flatMap((p) => Array.from({ length: 18 }, (_, i) => `${p}/${i + 1}`)), 'icmp']
  const holds = (list: readonly string[], point: string) => intersectPorts(portsOf(list), portsOf([point])).length > 0
  fc.assert(
    fc.property(entries, entries, (a, b) => {
      const left = formatPorts(subtractPorts(portsOf(a), portsOf(b)))
      const common = formatPorts(intersectPorts(portsOf(a), portsOf(b)))
      for (const point of points) {
        assert.equal(holds(left, point), holds(a, point) && !holds(b, point), `${a} less ${b} at ${point}: ${left}`)
        assert.equal(holds(common, point), holds(a, point) && holds(b, point))
      }
      assert.deepEqual(formatPorts(portsOf([...a].reverse())), formatPorts(portsOf(a)))
    }),
  )
  assert.deepEqual(formatPorts(portsOf(undefined)), ['tcp/*', 'udp/*', 'icmp'])
  assert.deepEqual(formatPorts(portsAsked(undefined, 53)), ['tcp/53', 'udp/53'])
  for (const text of ['tcp', 'tcp/0', 'tcp/65536', 'tcp/2-1', 'tcp/01', 'sctp/1', 'icmp/1', 'tcp/', 'tcp/1-'])
    assert.equal(parsePort(text), null, text)
})

test('targets are parsed and printed', () => {
  for (const text of [
    'db',
    'db:tcp/5432',
    'db:udp',
    'db:icmp',
    '10.1.2.3',
    '10.1.2.3:tcp/22',
    '[fd00::1]:udp/53',
    'git.example.com:tcp/443',
  ]) {
    assert.equal(textOfTarget(parseTarget(text) ?? assert.fail(text)), text)
  }
  assert.deepEqual(parseTarget('fd00::1'), { address: 'fd00::1' })
  assert.deepEqual(parseTarget('db:tcp/*'), { name: 'db', protocol: 'tcp' })
  for (const text of [
    '',
    ':tcp/1',
    'db:443',
    'db:tcp/0',
    'db:tcp/1-2',
    '[db]',
    '[fd00::1',
    '[fd00::1]53',
    'a:b:tcp/1',
    'db:icmp/8',
  ])
    assert.equal(parseTarget(text), null, text)
})
