import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { checkDocument, compilePolicy, decide, parseTarget, resolveDocument } from '@holdfast/policy'
import fc from 'fast-check'
import { decodeId } from '../../src/kernel/ids.ts'
import { enroll } from '../support/actors/devices.ts'
import { startKit } from '../support/deployment/deployment.ts'

const documents = 50
/** Questions of one request: most that the server answers at once. */
const perDocument = 200
/** Each of these questions is also asked alone, as the page does it. */
const askedAlone = 5

const tags = ['red', 'green', 'blue'] as const
const names = ['wiki', 'git', 'db'] as const
const subset = <T>(values: readonly T[]) => fc.subarray([...values], { minLength: 1 })
const ports = fc.subarray(['tcp/22', 'tcp/443', 'udp/53', 'tcp/1000-2000', 'icmp'], { minLength: 1 })
const minuteOfDay = fc.integer({ min: 0, max: 1439 })
const clock = minuteOfDay.map(
  (m) => `${String(Math.floor(m / 60)).padStart(2, '0')}:${String(m % 60).padStart(2, '0')}`,
)
const window = fc.record(
  {
    days: subset(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']),
    from: clock,
    to: clock,
    zone: fc.constantFrom('UTC', 'Europe/Berlin'),
  },
  { requiredKeys: ['from', 'to', 'zone'] },
)
const when = fc.record(
  {
    time: fc.array(window, { minLength: 1, maxLength: 2 }),
    countries: subset(['DE', 'AT', 'FR']),
    cidrs: subset(['192.0.2.0/25', '198.51.100.0/24']),
    mfa_within_seconds: fc.constantFrom(600, 86_400),
    posture: fc.constant(['disk']),
  },
  { requiredKeys: [] },
)
const rule = fc.record(
  {
    action: fc.constantFrom('allow', 'allow', 'allow', 'allow', 'allow', 'allow', 'deny'),
    from: fc.oneof(fc.constant({ any: true }), fc.record({ tags: subset(tags) })),
    except: fc.record({ tags: subset(tags) }),
    to: fc.oneof(subset(names), fc.constant(['*']), fc.constant(['10.1.0.0/16'])),
    ports,
    when,
    expires_at: fc.constantFrom('2027-06-01T00:00:00Z', '2030-01-01T00:00:00Z'),
  },
  { requiredKeys: ['action', 'from', 'to'] },
)
const document = fc.array(rule, { minLength: 1, maxLength: 12 }).map((rules) => ({
  schema: 'holdfast.policy/1',
  resources: {
    wiki: { cidrs: ['10.1.0.0/24'] },
    git: { cidrs: ['10.1.1.0/24', '10.2.0.0/16'] },
    db: { dns: ['db.example.com'] },
  },
  posture_checks: { disk: { expression: 'disk.encrypted' } },
  rules: rules.map((one, i) => ({ id: `rule-${i}`, ...one })),
}))
const target = fc.constantFrom(
  ...['wiki', 'wiki:tcp/443', 'git:tcp/22', 'git', 'db:tcp/5432', 'db.example.com:tcp/5432', '10.1.0.7:tcp/443'],
  ...['10.1.9.9:tcp/1500', '10.2.3.4:udp/53', '203.0.113.1:tcp/443', '10.1.1.1:icmp'],
)
const time = fc
  .integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2029, 0, 1) })
  .map((ms) => new Date(ms).toISOString())
const question = fc.record(
  {
    device: fc.nat({ max: 7 }),
    target,
    at: time,
    source_ip: fc.constantFrom('192.0.2.1', '192.0.2.200', '198.51.100.9', '203.0.113.5'),
    country: fc.constantFrom('DE', 'US'),
    mfaAgo: fc.constantFrom(60, 3600, 200_000),
  },
  { requiredKeys: ['device', 'target', 'at'] },
)

test('what-if agrees with the decision of the policy engine on 10,000 random questions', async (t: TestContext) => {
  const kit = await startKit(t)
  const devices: { id: string; tags: string[] }[] = []
  for (let i = 0; i < 8; i++) {
    const own = tags.filter((_, bit) => i & (1 << bit))
    devices.push({ id: (await enroll(kit, `device ${i}`, { tags: own })).id, tags: own })
  }
  let allowed = 0
  const judge = async (
    policy: object,
    questions: readonly (typeof question extends fc.Arbitrary<infer Q> ? Q : never)[],
  ) => {
    const checked = checkDocument(policy)
    assert.ok('document' in checked, JSON.stringify(checked))
    const resolved = resolveDocument(checked.document, nobody)
    assert.ok('resolved' in resolved)
    const compiled = compilePolicy(resolved.resolved)
    const asked = questions.map(({ device, mfaAgo, ...facts }) => ({
      device_id: devices[device]!.id,
      ...facts,
      ...(mfaAgo !== undefined && { mfa_at: new Date(Date.parse(facts.at) - mfaAgo * 1000).toISOString() }),
    }))
    const { answers } = await kit.admin.simulatePolicy({
      body: { policy: policy as Record<string, unknown>, questions: asked },
    })
    for (const [i, { after }] of answers.entries()) {
      const { at, mfa_at, device_id: _, target: text, ...context } = asked[i]!
      const { id, tags: own } = devices[questions[i]!.device]!
      const facts = {
        device_id: decodeId('device', id)!,
        user_id: null,
        group_ids: [],
        tags: own,
        platform: 'linux',
        posture: null,
      }
      const known = { at: Date.parse(at), ...context, ...(mfa_at !== undefined && { mfa_at: Date.parse(mfa_at) }) }
      const expected = decide(compiled, facts, known, parseTarget(text)!)
      assert.deepEqual(
        [after.decision, after.rule_id, after.reason],
        [expected.decision, expected.rule_id, expected.reason],
        text,
      )
      if (expected.decision === 'allow') allowed++
      if (i >= askedAlone) continue
      const alone = await kit.admin.explainPolicy({ body: { ...asked[i]!, policy: policy as Record<string, unknown> } })
      assert.deepEqual([alone.policy_decision, alone.rule_id], [expected.decision, expected.rule_id], text)
      assert.deepEqual(
        alone.would_allow.map(({ rule_id }) => rule_id),
        expected.would_allow.map(({ rule_id }) => rule_id),
      )
    }
    return answers.length
  }
  let count = 0
  // As JSON, since generated records have no prototype. Some documents have windows that never open.
  const clone = <T>(value: T): T => JSON.parse(JSON.stringify(value))
  const valid = fc
    .sample(document, 6 * documents)
    .map(clone)
    .filter((one) => 'document' in checkDocument(one))
  for (const policy of valid.slice(0, documents)) count += await judge(policy, clone(fc.sample(question, perDocument)))
  assert.equal(count, documents * perDocument)
  t.diagnostic(`${count} questions, ${allowed} allowed`)
  assert.ok(allowed > count / 50 && allowed < count, 'both decisions occur')
})

/** The documents name nobody, so that the oracle needs no directory. */
const nobody = { users: new Map(), groups: new Map(), devices: new Set<string>(), pools: new Map() } as never
