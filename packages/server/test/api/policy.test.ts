import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '@holdfast/sdk'
import { call, enrollRaw, operation, type RawDevice } from '../support/actors/all-callers.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'

const digestOf = async (kit: Kit, device: RawDevice) => {
  const { json, status, text } = await call(kit, operation('policyDigest'), device.caller)
  assert.equal(status, 200, text)
  return json as { digest: string; channel: string; version: number; seq: number; pointer: string }
}
const rule = (id: string, group: string, cidr: string) => ({
  id,
  action: 'allow',
  from: { groups: [group] },
  to: [cidr],
})
const policy = (...rules: object[]) => ({ schema: 'holdfast.policy/1', rules })

/** Two groups, a user in each with a device. */
async function fleet(kit: Kit) {
  const make = async (name: string) => {
    const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: name } } })
    const { group } = await kit.admin.changeGroup({
      body: { operation: 'create', group: { name: `${name}s`, members: [user.user_id] } },
    })
    const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0, user_id: user.user_id } })
    return { user, group, device: await enrollRaw(kit, token, name) }
  }
  return { engineer: await make('engineer'), seller: await make('seller') }
}

test('canary first, then stable; each device gets exactly its rules', async (t) => {
  const kit = await startKit(t)
  const { engineer, seller } = await fleet(kit)
  const before = await digestOf(kit, engineer.device)
  assert.deepEqual([before.version, before.channel], [0, 'stable'])

  const document = policy(rule('code', 'engineers', '10.1.0.0/16'), rule('crm', 'sellers', '10.2.0.0/16'))
  const canary = await kit.admin.publishPolicy({
    body: { channel: 'canary', policy: document, rollout: { group_ids: [engineer.group.group_id] } },
  })
  assert.deepEqual(canary.impact.rules_added, ['code', 'crm'])
  assert.deepEqual([canary.impact.status, canary.impact.devices_affected, canary.impact.grants_gained], ['done', 1, 1])
  const onCanary = await digestOf(kit, engineer.device)
  assert.deepEqual([onCanary.channel, onCanary.version], ['canary', 1])
  assert.equal((await digestOf(kit, seller.device)).digest, before.digest, 'not on canary: nothing changed')

  await kit.admin.publishPolicy({ body: { channel: 'stable', from: { channel: 'canary' } } })
  const onStable = await digestOf(kit, engineer.device)
  assert.deepEqual([onStable.channel, onStable.version, onStable.digest], ['stable', 2, onCanary.digest])
  assert.ok(onStable.seq > onCanary.seq)
  const bundle = await call(kit, operation('policyBundle'), seller.device.caller)
  const { content } = JSON.parse(Buffer.from(String(bundle.json.bundle).split('.')[1]!, 'base64url').toString())
  assert.deepEqual(
    content.rules.map((r: { id: string }) => r.id),
    ['crm'],
  )
  assert.doesNotMatch(
    JSON.stringify(content),
    /engineers|10\.1\./,
    'a device learns nothing of rules that do not concern it',
  )
})

test("a publish that changes one group's rule changes the digest of exactly that group's devices", async (t) => {
  const kit = await startKit(t)
  const { engineer, seller } = await fleet(kit)
  await kit.admin.publishPolicy({
    body: {
      channel: 'stable',
      policy: policy(rule('code', 'engineers', '10.1.0.0/16'), rule('crm', 'sellers', '10.2.0.0/16')),
    },
  })
  const before = [await digestOf(kit, engineer.device), await digestOf(kit, seller.device)]
  const published = await kit.admin.publishPolicy({
    body: {
      channel: 'stable',
      policy: policy(rule('code', 'engineers', '10.9.0.0/16'), rule('crm', 'sellers', '10.2.0.0/16')),
    },
  })
  assert.deepEqual([published.impact.rules_changed, published.impact.devices_affected], [['code'], 1])
  const after = [await digestOf(kit, engineer.device), await digestOf(kit, seller.device)]
  assert.notEqual(after[0]!.digest, before[0]!.digest)
  assert.equal(after[1]!.digest, before[1]!.digest)
})

test('a membership moves only the devices of that user', async (t) => {
  const kit = await startKit(t)
  const { engineer, seller } = await fleet(kit)
  await kit.admin.publishPolicy({
    body: { channel: 'stable', policy: policy(rule('code', 'engineers', '10.1.0.0/16')) },
  })
  const before = [await digestOf(kit, engineer.device), await digestOf(kit, seller.device)]
  await kit.admin.changeGroup({
    body: { operation: 'update', group_id: engineer.group.group_id, group: { add_members: [seller.user.user_id] } },
  })
  const after = [await digestOf(kit, engineer.device), await digestOf(kit, seller.device)]
  assert.equal(after[0]!.digest, before[0]!.digest)
  assert.equal(after[1]!.digest, before[0]!.digest, 'now they share a variant')
})

test('a held request is answered when its own digest changes, not when another does, and at its end with 304', async (t) => {
  const kit = await startKit(t)
  const { engineer, seller } = await fleet(kit)
  await kit.admin.publishPolicy({
    body: { channel: 'stable', policy: policy(rule('code', 'engineers', '10.1.0.0/16')) },
  })
  const hold = async (device: RawDevice, seconds: number) => {
    const { digest } = await digestOf(kit, device)
    return call(kit, operation('policyDigest'), (m, u) => ({
      ...device.caller(m, u),
      prefer: `wait=${seconds}`,
      'if-none-match': `"${digest}"`,
    }))
  }
  const [forEngineer, forSeller] = [hold(engineer.device, 20), hold(seller.device, 1)]
  await new Promise((resolve) => setTimeout(resolve, 200))
  await kit.admin.publishPolicy({
    body: { channel: 'stable', policy: policy(rule('code', 'engineers', '10.3.0.0/16')) },
  })
  assert.equal((await forEngineer).status, 200)
  assert.equal((await forSeller).status, 304)

  const revoked = hold(engineer.device, 20)
  await new Promise((resolve) => setTimeout(resolve, 200))
  await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: engineer.device.id } })
  assert.equal((await revoked).status, 401, 'a held request of a revoked device')
})

test('errors are named where they stand; a failing test refuses the publish with its detail', async (t) => {
  const kit = await startKit(t)
  const refusal = async (document: object) => {
    try {
      await kit.admin.publishPolicy({ body: { channel: 'stable', policy: document as Record<string, unknown> } })
      return []
    } catch (e) {
      assert.ok(e instanceof ApiError)
      assert.equal(e.status, 422)
      return e.errors!.map((x) => x.field)
    }
  }
  assert.deepEqual(await refusal(policy({ ...rule('a', 'nobody', '10.0.0.0/8') })), ['policy.rules[0].from.groups[0]'])
  assert.deepEqual(await refusal(policy({ id: 'a', action: 'allow', from: { any: true }, to: ['nowhere'] })), [
    'policy.rules[0].to[0]',
  ])
  assert.deepEqual(await refusal({ ...policy(), surprise: 1 }), ['policy.surprise'])
  const open = { id: 'all', action: 'allow', from: { any: true }, to: ['10.0.0.0/8'] }
  const failing = { ...policy(open), tests: [{ name: 'closed', from: { tag: 'kiosk' }, deny: ['10.1.2.3:tcp/22'] }] }
  assert.deepEqual(await refusal(failing), ['policy.tests[0]'])
  const forced = await kit.admin.publishPolicy({
    body: { channel: 'stable', policy: failing, allow_failing_tests: true },
  })
  assert.equal(forced.tests.failed, 1)
  const validated = await kit.admin.validatePolicy({ body: { policy: failing } })
  assert.deepEqual([validated.valid, validated.tests!.results[0]!.failures[0]!.got], [false, 'allow'])
})

test('twenty publishes at once: twenty versions in order, and the last is what devices get', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { engineer } = await fleet(kit)
  const clients = await Promise.all(kit.replicas.map(async (r) => kit.clientFor(kit.adminKey, r)))
  const published = await times(20, (i) =>
    clients[i % 2]!.publishPolicy({
      body: { channel: 'stable', policy: policy(rule('code', 'engineers', `10.${i}.0.0/16`)) },
    }),
  )
  assert.deepEqual(
    published.map((b) => b.version).sort((a, b) => a - b),
    Array.from({ length: 20 }, (_, i) => i + 1),
  )
  const { items } = await kit.admin.listPolicyBundles()
  assert.deepEqual(
    items.map((b) => b.current),
    [true, ...Array(19).fill(false)],
  )
  assert.equal((await digestOf(kit, engineer.device)).version, 20)
})

test('explain says which rule, which condition and which fact', async (t) => {
  const kit = await startKit(t)
  const { engineer } = await fleet(kit)
  const document = {
    ...policy({ ...rule('code', 'engineers', '10.1.0.0/16'), when: { posture: ['encrypted'] } }),
    posture_checks: {
      encrypted: {
        expression: 'disk.encrypted == true',
        enforcement: 'enforce',
        severity: 'high',
        remediation: 'Turn on disk encryption',
        freshness_seconds: 3600,
      },
    },
  }
  const { valid, errors } = await kit.admin.validatePolicy({ body: { policy: document } })
  assert.deepEqual([valid, errors], [true, []])
  await kit.admin.publishPolicy({ body: { channel: 'stable', policy: document } })
  const explain = () => kit.admin.explainPolicy({ body: { device_id: engineer.device.id, target: '10.1.2.3:tcp/22' } })
  const denied = await explain()
  assert.deepEqual([denied.decision, denied.rule_id, denied.posture[0]!.reason_code], ['deny', null, 'no_report'])
  const reported = await call(kit, operation('reportPosture'), engineer.device.caller, {
    facts: { 'disk.encrypted': false },
  })
  assert.deepEqual(reported.json.checks, [{ id: 'encrypted', passed: false, remediation: 'Turn on disk encryption' }])
  assert.doesNotMatch(reported.text, /disk\.encrypted/, 'the device is not told what is expected')
  assert.deepEqual((await explain()).posture[0], {
    check_id: 'encrypted',
    passed: false,
    reason_code: 'failed',
    expected: 'disk.encrypted == true',
    actual: { 'disk.encrypted': false },
  })
  const shut = await digestOf(kit, engineer.device)
  await call(kit, operation('reportPosture'), engineer.device.caller, { facts: { 'disk.encrypted': true } })
  const allowed = await explain()
  assert.deepEqual([allowed.policy_decision, allowed.rule_id], ['allow', 'code'])
  assert.ok(allowed.valid_until, 'a fresh report ends')
  assert.notEqual((await digestOf(kit, engineer.device)).digest, shut.digest)
})

test('simulate answers before and after, and whom it would change, without publishing', async (t) => {
  const kit = await startKit(t)
  const { engineer } = await fleet(kit)
  const answer = await kit.admin.simulatePolicy({
    body: {
      policy: policy(rule('code', 'engineers', '10.1.0.0/16')),
      questions: [{ device_id: engineer.device.id, target: '10.1.0.1' }],
    },
  })
  assert.deepEqual([answer.answers[0]!.before.decision, answer.answers[0]!.after.decision], ['deny', 'allow'])
  assert.deepEqual([answer.impact.devices_affected, answer.impact.grants_gained], [1, 1])
  assert.equal((await digestOf(kit, engineer.device)).version, 0)
})
