import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyDocument, PolicyRule, PolicyTimeWindow } from '@holdfast/contract/policy-document'
import fc from 'fast-check'
import { arbitraryDevice, arbitraryRule, compile, device, NOW, world } from '../test/support/policies.ts'
import type { ConnectionContext } from './conditions.ts'
import { decide } from './decide.ts'
import type { DeviceFacts } from './facts.ts'
import { type Box, flatten } from './flatten.ts'
import { parseAddress } from './network.ts'
import { selectVariant } from './select.ts'
import { type VariantContent, variantContent } from './variant.ts'

/** Number of random cases. `npm test` tries some; FLATTEN_RUNS=100000 tries all that the design requires. */
const options = { numRuns: Number(process.env.FLATTEN_RUNS ?? 80) }

const places = ['db', 'web', 'gw', 'voip', '*', '10.1.0.0/16', '10.1.2.0/24', '10.1.2.3', '0.0.0.0/0', '::/0']
const windows: PolicyTimeWindow[][] = [
  [{ days: ['mon', 'tue'], from: '08:00', to: '18:00', zone: 'Europe/Berlin' }],
  [{ from: '22:00', to: '06:00', zone: 'America/New_York' }],
  [
    { from: '12:00', to: '12:01', zone: 'UTC' },
    { from: '13:30', to: '24:00', zone: 'Asia/Kathmandu' },
  ],
]
const rulesOfPools: fc.Arbitrary<PolicyRule[]> = fc
  .array(
    fc.tuple(
      arbitraryRule,
      fc.uniqueArray(fc.constantFrom(...places, 'fd00::/48', 'fd00::5'), { minLength: 1, maxLength: 3 }),
      fc.option(fc.constantFrom(...windows)),
      fc.option(fc.uniqueArray(fc.constantFrom('eu', 'us'), { minLength: 1 }), { freq: 3 }),
      fc.boolean(),
      fc.constantFrom('plain', 'plain', 'timed', 'whole'),
    ),
    { maxLength: 12 },
  )
  .map((made) =>
    made.map(([rule, to, time, via, log, kind], i): PolicyRule => {
      // Most rules are for everyone and with few conditions; otherwise nothing would be allowed.
      const { action, ports } = rule
      const own = { action, to, log, id: `r${i}`, ...(ports && { ports }), ...(via && action === 'allow' && { via }) }
      const when = { ...(kind === 'whole' && rule.when), ...(kind !== 'plain' && time && { time }) }
      return kind === 'whole' ? { ...rule, ...own, when } : { ...own, from: { any: true }, when }
    }),
  )

const worldOfPools = (rules: readonly PolicyRule[]): Omit<PolicyDocument, 'schema'> => {
  const plain = world(rules)
  return {
    ...plain,
    resources: {
      db: { ...plain.resources?.db, pool: 'eu' },
      web: { ...plain.resources?.web },
      voip: { cidrs: ['10.1.2.0/25', 'fd00::/126'], ports: ['udp/5060', 'tcp/443-444', 'icmp'], pool: 'us' },
    },
  }
}

/** Returns the rules as they apply at one pool, because `decide` ignores pools. */
const atPool = (rules: readonly PolicyRule[], pool: string): PolicyRule[] => {
  const poolOf: Record<string, string> = { db: 'eu', voip: 'us' }
  return rules.flatMap((rule) => {
    if (rule.action === 'deny') return [rule]
    if (rule.via) return rule.via.includes(pool) ? [rule] : []
    const to = rule.to.filter((name) => (poolOf[name] ?? pool) === pool)
    return to.length > 0 ? [{ ...rule, to }] : []
  })
}

type Probe = { address: string; protocol: 'tcp' | 'udp' | 'icmp'; port: number }
const probe: fc.Arbitrary<Probe> = fc.record({
  address: fc.oneof(
    fc.constantFrom('10.1.2.3', '10.1.2.2', '10.1.2.4', '10.1.2.127', '10.1.2.128', '10.1.1.255', '10.1.3.0'),
    fc.constantFrom('10.0.255.255', '10.1.255.255', '10.2.0.0', '0.0.0.0', '255.255.255.255', '::ffff:10.1.2.3'),
    fc.constantFrom('::', 'fd00::', 'fd00::5', 'fd00::4', 'fd00::6', 'fd00:0:0:1::', 'fd00:0:1::', 'ffff:ffff::1'),
    fc.ipV4(),
    fc.ipV6(),
  ),
  protocol: fc.constantFrom('tcp', 'tcp', 'udp', 'icmp'),
  port: fc.oneof(
    fc.constantFrom(1, 22, 442, 443, 444, 445, 1_024, 1_025, 5_060, 5_432, 65_535),
    fc.integer({ min: 1, max: 65_535 }),
  ),
})

const moment = fc.oneof(
  fc.constantFrom('2027-01-04T07:00:00Z', '2027-01-04T12:00:30Z', '2027-01-04T07:45:00Z').map((t) => Date.parse(t)),
  fc.integer({ min: NOW - 86_400_000, max: NOW + 8 * 86_400_000 }),
)
const connection: fc.Arbitrary<Omit<ConnectionContext, 'at'>> = fc.record(
  {
    source_ip: fc.constantFrom('192.0.2.9', '198.51.100.7', '2001:db8::1', 'not an address'),
    country: fc.constantFrom('DE', 'US', 'FR'),
    mfa_at: fc.integer({ min: NOW - 7_200_000, max: NOW + 7_200_000 }),
  },
  { requiredKeys: [] },
)
const pool = fc.constantFrom('eu', 'us', 'elsewhere')
const nothing = new Map<string, string[]>()

const contentOf = (rules: readonly PolicyRule[], facts: DeviceFacts, at: number): VariantContent => {
  const compiled = compile(worldOfPools(rules))
  // The content in the form in which a gateway receives it.
  return JSON.parse(JSON.stringify(variantContent(compiled, selectVariant(compiled, facts, at))))
}
/** Evaluates a probe with nothing but the boxes. */
function holds(boxes: readonly Box[], { address, protocol, port }: Probe): number {
  const point = parseAddress(address) ?? assert.fail(address)
  const isIn = (box: Box) =>
    (parseAddress(box.first) ?? 1n) <= point &&
    point <= (parseAddress(box.last) ?? 0n) &&
    box.protocol === protocol &&
    (box.ports === null || (box.ports[0] <= port && port <= box.ports[1]))
  return boxes.filter(isIn).length
}
const target = ({ address, protocol, port }: Probe) =>
  protocol === 'icmp' ? { address, protocol } : { address, protocol, port }

test('what is in a box is what decide allows at that pool, and in no more than one', () => {
  let allowed = 0
  fc.assert(
    fc.property(
      rulesOfPools,
      arbitraryDevice,
      connection,
      pool,
      moment,
      probe,
      (rules, facts, seen, pool, at, asked) => {
        const { boxes } = flatten(contentOf(rules, facts, at), { pool, at, connection: seen, names: nothing })
        const { decision } = decide(compile(worldOfPools(atPool(rules, pool))), facts, { ...seen, at }, target(asked))
        assert.equal(holds(boxes, asked), decision === 'allow' ? 1 : 0)
        allowed += holds(boxes, asked)
      },
    ),
    options,
  )
  // A test with denials only would prove nothing.
  assert.ok(allowed > options.numRuns / 50, `${allowed} allowed`)
})

test('boxes do not overlap, stand in order, and none continues another', () => {
  const spanOf = (box: Box) => ({ lo: parseAddress(box.first) ?? 0n, hi: parseAddress(box.last) ?? 0n })
  const kind = (box: Box) => JSON.stringify([box.family, box.protocol, box.ports, box.log])
  fc.assert(
    fc.property(rulesOfPools, arbitraryDevice, connection, pool, moment, (rules, facts, seen, pool, at) => {
      const { boxes } = flatten(contentOf(rules, facts, at), { pool, at, connection: seen, names: nothing })
      for (const [i, box] of boxes.entries())
        for (const other of boxes.slice(i + 1)) {
          const [a, b] = [spanOf(box), spanOf(other)]
          assert.ok(a.lo <= b.lo, 'in order')
          const [[from, to], [otherFrom, otherTo]] = [box.ports ?? [0, 0], other.ports ?? [0, 0]]
          const isApart = b.lo > a.hi || box.protocol !== other.protocol || otherFrom > to || from > otherTo
          assert.ok(isApart, JSON.stringify([box, other]))
          if (box.family === other.family) assert.ok(kind(box) !== kind(other) || b.lo !== a.hi + 1n, 'merged')
        }
    }),
    options,
  )
})

test('the order of the rules, and of what they lead to, means nothing', () => {
  fc.assert(
    fc.property(rulesOfPools, arbitraryDevice, connection, pool, moment, (rules, facts, seen, pool, at) => {
      const content = contentOf(rules, facts, at)
      const turned = { ...content, rules: content.rules.toReversed().map((r) => ({ ...r, to: r.to.toReversed() })) }
      const asked = { pool, at, connection: seen, names: nothing }
      assert.deepEqual(flatten(turned, asked), flatten(content, asked))
    }),
    options,
  )
})

test('the boxes stay what they are until they say, and are what decide says all the while', () => {
  const part = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(rulesOfPools, connection, pool, moment, probe, part, (rules, seen, pool, at, asked, part) => {
      const facts = device({ posture: null, group_ids: ['staff', 'dev'] })
      const content = contentOf(rules, facts, at)
      const here = { pool, connection: seen, names: nothing }
      const { boxes, valid_until } = flatten(content, { ...here, at })
      const end = valid_until ?? at + 400 * 86_400_000
      assert.ok(end > at)
      const compiled = compile(worldOfPools(atPool(rules, pool)))
      for (const later of [end - 1, at + Math.floor((end - 1 - at) * part)]) {
        assert.deepEqual(flatten(content, { ...here, at: later }).boxes, boxes)
        const { decision } = decide(compiled, facts, { ...seen, at: later }, target(asked))
        assert.equal(holds(boxes, asked), decision === 'allow' ? 1 : 0)
      }
    }),
    options,
  )
})

test('a name is reached in its boxes exactly when decide allows the name', () => {
  const asked = ['x.corp.example', 'corp.example', 'example.com', 'a.example.com']
  const names = new Map(asked.map((name, i) => [name, [`203.0.113.${i}`]]))
  fc.assert(
    fc.property(rulesOfPools, arbitraryDevice, connection, moment, fc.nat({ max: 3 }), (drawn, facts, seen, at, i) => {
      // A network contains addresses but no names, so rules on such a network would differ on purpose.
      const rules = drawn.map((rule) => ({ ...rule, to: rule.to.map((to) => (to.endsWith('/0') ? 'web' : to)) }))
      const unique = rules.map((rule) => ({ ...rule, to: [...new Set(rule.to)] }))
      const { boxes } = flatten(contentOf(unique, facts, at), { pool: 'eu', at, connection: seen, names })
      const probe = { address: `203.0.113.${i}`, protocol: 'tcp', port: 443 } as const
      const compiled = compile(worldOfPools(atPool(unique, 'eu')))
      const named = { name: asked[i] ?? '', protocol: 'tcp', port: 443 } as const
      const { decision } = decide(compiled, facts, { ...seen, at }, named)
      assert.equal(holds(boxes, probe), decision === 'allow' ? 1 : 0)
    }),
    options,
  )
})
