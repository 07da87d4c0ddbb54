import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { enroll } from '../support/actors/devices.ts'
import { refused } from '../support/clients/answers.ts'
import { startKit } from '../support/deployment/deployment.ts'

const schema = 'holdfast.policy/1' as const
const resources = { db: { cidrs: ['10.1.2.0/24'], ports: ['tcp/5432'] }, web: { cidrs: ['10.2.0.0/16'] } }
const posture_checks = { disk: { expression: 'disk.encrypted' } }
const targets = ['db', 'db:tcp/5432', 'web:tcp/443', '10.1.2.3:tcp/22']

const some = (from: readonly string[]) => fc.uniqueArray(fc.constantFrom(...from), { minLength: 1, maxLength: 2 })
const someRules = fc
  .array(
    fc.record(
      {
        action: fc.constantFrom('allow' as const, 'allow' as const, 'deny' as const),
        from: fc.oneof(
          fc.record({ groups: some(['staff', 'ops']) }),
          fc.record({ users: some(['ann', 'ben']) }),
          fc.record({ tags: some(['laptop', 'kiosk']) }),
          fc.constant({ any: true as const }),
        ),
        to: some(['db', 'web', '10.1.0.0/16']),
        when: fc.constant({ posture: ['disk'] }),
      },
      { requiredKeys: ['action', 'from', 'to'] },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((rules) => rules.map((rule, i) => ({ ...rule, id: `r${i}` })))

test('reach of a target, and impact of a document', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const users = new Map<string, string>()
  for (const username of ['ann', 'ben', 'cyd'])
    users.set(username, (await admin.changeUser({ body: { operation: 'create', user: { username } } })).user.user_id)
  const groups = new Map<string, string>()
  for (const [name, members] of [
    ['staff', ['ann', 'ben', 'cyd']],
    ['ops', ['ben']],
  ] as const) {
    const user_ids = members.map((m) => users.get(m)!)
    const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name, members: user_ids } } })
    groups.set(name, group.group_id)
  }
  const made = async (name: string, username: string | null, tags: string[] = []) => {
    const user_id = username === null ? undefined : users.get(username)
    return enroll(kit, name, { ...(user_id !== undefined && { user_id }), tags })
  }
  const devices = [
    await made('ann 1', 'ann', ['laptop']),
    await made('ann 2', 'ann', ['kiosk']),
    await made('ben 1', 'ben', ['laptop']),
    await made('cyd 1', 'cyd'),
    await made('nobody', null, ['kiosk']),
    await made('suspended', 'ben'),
    await made('locked', 'ann'),
  ]
  for (const [i, encrypted] of [true, false, true].entries())
    await devices[i]!.client.reportPosture({ body: { facts: { 'disk.encrypted': encrypted } } })
  await admin.changeDevice({ body: { operation: 'suspend', device_id: devices[5]!.id } })
  await admin.createLock({ body: { target: { type: 'device', id: devices[6]!.id }, reason: 'lost' } })
  await kit.heard()
  const documentOf = (rules: object[]) => ({ schema, resources, posture_checks, rules })
  const whoReaches = (body: Parameters<typeof admin.whoReaches>[0]['body']) => admin.whoReaches({ body })

  await t.test('reach agrees with the decision of each device, for a given document', async () => {
    await fc.assert(
      fc.asyncProperty(someRules, async (rules) => {
        const policy = documentOf(rules)
        const questions = targets.flatMap((target) => devices.map(({ id }) => ({ device_id: id, target })))
        const { answers } = await admin.simulatePolicy({ body: { policy, questions } })
        for (const [n, target] of targets.entries()) {
          const found = await whoReaches({ target, policy })
          const decided = answers.slice(n * devices.length, (n + 1) * devices.length).map((a) => a.after)
          const expected = decided.flatMap((d, i) => (d.decision === 'allow' ? [[devices[i]!.id, d.rule_id]] : []))
          assert.deepEqual(
            found.devices.map((d) => [d.device_id, d.rule_id]).sort(),
            expected.sort(),
            `${target} ${JSON.stringify(rules)}`,
          )
          assert.equal(found.counts.devices, expected.length)
          assert.equal(found.devices_examined, devices.length)
          assert.equal(
            found.rules.reduce((sum, r) => sum + r.devices, 0),
            expected.length,
          )
        }
      }),
      { numRuns: 12 },
    )
  })

  const stable = documentOf([
    { id: 'staff', action: 'allow', from: { groups: ['staff'] }, to: ['db'] },
    { id: 'kiosks', action: 'allow', from: { tags: ['kiosk'] }, to: ['web'] },
  ])
  await t.test('reach agrees with explain for each device, for the delivered policy', async () => {
    await admin.publishPolicy({ body: { channel: 'stable', policy: stable } })
    const canary = documentOf([{ id: 'ops', action: 'allow', from: { groups: ['ops'] }, to: ['db'] }])
    const group_ids = [groups.get('ops')!]
    await assert.rejects(whoReaches({ target: 'db', channel: 'canary' }), refused(422, /no canary is active/))
    await admin.publishPolicy({ body: { channel: 'canary', policy: canary, rollout: { group_ids } } })
    for (const target of ['db', 'web:tcp/443']) {
      const found = await whoReaches({ target })
      const expected: string[][] = []
      for (const { id } of devices) {
        const { policy_decision, blocked_by, rule_id, channel } = await admin.explainPolicy({
          body: { device_id: id, target },
        })
        // The state of gateways plays no role.
        if (policy_decision === 'allow' && blocked_by.every((b) => b.kind === 'gateway'))
          expected.push([id, rule_id!, channel!])
      }
      assert.deepEqual(found.devices.map((d) => [d.device_id, d.rule_id, d.channel]).sort(), expected.sort())
      assert.deepEqual([found.judged_by, found.version], ['delivered', null])
    }
    const onStable = await whoReaches({ target: 'db', channel: 'stable' })
    assert.deepEqual([onStable.version, onStable.counts.devices], [1, 4])
    const onCanary = await whoReaches({ target: 'db', channel: 'canary' })
    assert.deepEqual([onCanary.version, onCanary.counts.devices], [2, 1])
  })

  await t.test('explain and reach agree under a channel and under a document', async () => {
    const draft = documentOf([{ id: 'kiosk-db', action: 'allow', from: { tags: ['kiosk'] }, to: ['db'] }])
    const judges = [
      { channel: 'canary' as const, shown: ['canary', 2] },
      { channel: 'stable' as const, shown: ['stable', 1] },
      { policy: draft, shown: [null, null] },
    ]
    for (const { shown, ...judge } of judges) {
      const found = await whoReaches({ target: 'db', ...judge })
      const reaching = []
      for (const { id } of devices) {
        const body = { device_id: id, target: 'db', ...judge }
        const { policy_decision, blocked_by, channel, version } = await admin.explainPolicy({ body })
        assert.deepEqual([channel, version], shown)
        if (policy_decision === 'allow' && blocked_by.every((b) => b.kind === 'gateway')) reaching.push(id)
      }
      assert.deepEqual(found.devices.map((d) => d.device_id).sort(), reaching.sort())
      assert.ok(reaching.length > 0)
    }
    const ask = (more: object) => admin.explainPolicy({ body: { device_id: devices[0]!.id, target: 'db', ...more } })
    await assert.rejects(ask({ channel: 'stable', policy: draft }), refused(422, /cannot be combined with channel/))
    await assert.rejects(ask({ policy: { ...draft, rules: [{ id: 'x' }] } }), refused(422, /policy\.rules\[0\]/))
  })

  await t.test('reach names and counts users, groups and rules', async () => {
    const found = await whoReaches({ target: 'db:tcp/5432', channel: 'stable' })
    assert.deepEqual(found.counts, { devices: 4, devices_without_user: 0, users: 3, groups: 2 })
    assert.deepEqual(
      found.users.map((u) => [u.username, u.devices, u.rule_ids]),
      [
        ['ann', 2, ['staff']],
        ['ben', 1, ['staff']],
        ['cyd', 1, ['staff']],
      ],
    )
    // Of the six devices of staff two are blocked, and one of the two of ops.
    assert.deepEqual(
      found.groups.map((g) => [g.name, g.users, g.devices, g.devices_examined, g.rule_ids]),
      [
        ['staff', 3, 4, 6, ['staff']],
        ['ops', 1, 1, 2, ['staff']],
      ],
    )
    assert.deepEqual(found.rules, [{ rule_id: 'staff', devices: 4 }])
    const web = await whoReaches({ target: 'web', channel: 'stable' })
    assert.deepEqual(
      web.devices.map((d) => [d.device_name, d.username]),
      [
        ['ann 2', 'ann'],
        ['nobody', null],
      ],
    )
    assert.deepEqual(web.counts, { devices: 2, devices_without_user: 1, users: 1, groups: 1 })
  })

  await t.test('a simulation names the users who gain and lose access', async () => {
    const policy = documentOf([{ id: 'ops', action: 'allow', from: { groups: ['ops'] }, to: ['db', 'web'] }])
    const { impact } = await admin.simulatePolicy({ body: { policy } })
    const { gains, loses } = impact
    assert.deepEqual(
      [gains.devices, gains.users, gains.groups, gains.first_users.map((u) => u.username)],
      [1, 1, 2, ['ben']],
    )
    assert.deepEqual(
      gains.first_groups.map((g) => [g.name, g.users, g.devices, g.devices_examined]),
      [
        ['ops', 1, 1, 1],
        ['staff', 1, 1, 4],
      ],
    )
    assert.deepEqual(
      [loses.devices, loses.devices_without_user, loses.users, loses.first_users.map((u) => u.username).sort()],
      [4, 1, 2, ['ann', 'cyd']],
    )
    assert.equal(loses.first_groups[0]?.name, 'staff')
    const none = await admin.simulatePolicy({ body: { policy: stable } })
    assert.deepEqual([none.impact.gains.devices, none.impact.loses.devices], [0, 0])
  })

  await t.test('an invalid reach request is refused by name', async () => {
    await assert.rejects(whoReaches({ target: 'wiki' }), refused(422, /no resource or host "wiki"/))
    await assert.rejects(whoReaches({ target: '10.0.0.0/99:tcp' }), refused(422, /target/))
    await assert.rejects(whoReaches({ target: 'db', channel: 'stable', policy: stable }), refused(422, /channel/))
    await assert.rejects(whoReaches({ target: 'db', policy: documentOf([{ id: 'x' }]) }), refused(422, /policy\.rules/))
    const stranger = await kit.as('viewer', await kit.newTenant())
    const empty = await stranger.whoReaches({ body: { target: '10.1.2.3:tcp/22' } })
    assert.deepEqual([empty.devices_examined, empty.counts.devices], [0, 0])
  })
})
