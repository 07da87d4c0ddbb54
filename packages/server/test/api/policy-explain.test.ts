import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { PolicyConditions } from '@holdfast/contract/policy-document'
import { enroll } from '../support/actors/devices.ts'
import { startKit } from '../support/deployment/deployment.ts'

test('explain lists the rules that would have allowed, nearest first, with the missing conditions', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { user } = await admin.changeUser({ body: { operation: 'create', user: { username: 'sam' } } })
  for (const [name, members] of [
    ['engineering', []],
    ['sales', [user.user_id]],
  ] as const)
    await admin.changeGroup({ body: { operation: 'create', group: { name, members: [...members] } } })
  const device = await enroll(kit, 'laptop of sam', { user_id: user.user_id, tags: ['laptop'] })
  const rule = (id: string, from: object, when?: PolicyConditions, more: object = {}) => ({
    id,
    action: 'allow',
    from,
    to: ['db'],
    ...(when && { when }),
    ...more,
  })
  const engineering = { groups: ['engineering'] }
  const rules = [
    rule('far', engineering, { countries: ['DE', 'AT'], posture: ['encrypted'], mfa_within_seconds: 600 }),
    rule('near', engineering),
    rule('own', { groups: ['sales'] }, { posture: ['encrypted'] }),
    rule('tagged', { tags: ['server', 'kiosk'] }),
    rule('not-this', { any: true }, undefined, { except: { users: ['sam'] } }),
    rule('ended', { any: true }, undefined, { expires_at: '2020-01-01T00:00:00Z' }),
    { ...rule('elsewhere', engineering), to: ['crm'] },
  ]
  const policy = {
    schema: 'holdfast.policy/1',
    resources: { db: { cidrs: ['10.1.0.0/16'] }, crm: { cidrs: ['10.2.0.0/16'] } },
    posture_checks: { encrypted: { expression: 'disk.encrypted' } },
    rules,
  }
  await admin.publishPolicy({ body: { channel: 'stable', policy } })
  const explain = (more: object = {}) =>
    admin.explainPolicy({ body: { device_id: device.id, target: 'db:tcp/5432', ...more } })

  const denied = await explain()
  assert.deepEqual([denied.decision, denied.rule_id], ['deny', null])
  assert.deepEqual(
    denied.would_allow.map(({ rule_id, sentence }) => [rule_id, sentence]),
    [
      ['ended', 'ended at 2020-01-01T00:00:00Z'],
      ['near', "needs group engineering; the device's user is in sales"],
      ['not-this', 'excludes this device in "except"'],
      ['own', 'needs posture check encrypted to pass; the device has sent no report'],
      ['tagged', 'needs tag server or kiosk; the device has tag laptop'],
    ],
  )
  assert.deepEqual(denied.would_allow.find((r) => r.rule_id === 'near')!.lacks, [
    { property: 'from', expected: engineering, actual: { users: ['sam'], groups: ['sales'], tags: ['laptop'] } },
  ])
  assert.deepEqual(
    denied.would_allow.find((r) => r.rule_id === 'own')!.lacks.map(({ property, actual }) => [property, actual]),
    [['posture.encrypted', 'no_report']],
  )

  // One condition is met at a time; a met condition is no longer listed as missing.
  await device.client.reportPosture({ body: { facts: { 'disk.encrypted': true } } })
  const allowed = await explain()
  assert.deepEqual([allowed.policy_decision, allowed.rule_id, allowed.would_allow], ['allow', 'own', []])
  await device.client.reportPosture({ body: { facts: { 'disk.encrypted': false } } })
  assert.deepEqual(
    (await explain()).would_allow.find((r) => r.rule_id === 'own')?.sentence,
    'needs posture check encrypted to pass; the check fails',
  )

  await admin.publishPolicy({ body: { channel: 'stable', policy: { ...policy, rules: [rules[0], rules[2]] } } })
  const far = async (more?: object) => (await explain(more)).would_allow.find((r) => r.rule_id === 'far')!
  assert.equal(
    (await far({ country: 'FR', mfa_at: '2020-01-01T00:00:00Z' })).sentence,
    "needs group engineering; the device's user is in sales; and needs posture check encrypted to pass; the check fails; " +
      'and needs country DE or AT; the country is FR; and needs a second factor used within the last 600 seconds; the last one was used at 2020-01-01T00:00:00.000Z',
  )
  assert.deepEqual(
    (await explain()).would_allow.map((r) => r.rule_id),
    ['own', 'far'],
  )
  assert.equal((await far({ country: 'DE' })).lacks.length, 3)

  const everyone = await admin.explainPolicy({ body: { user_id: user.user_id, target: 'db:tcp/5432' } })
  assert.deepEqual(everyone.would_allow[0]?.rule_id, 'own', 'of a user without a device, too')
})
