import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, enrollRaw, operation, type RawDevice } from '../support/actors/all-callers.ts'
import { enroll } from '../support/actors/gateways.ts'
import { createClock, type Replica, runJob, startKit } from '../support/deployment/deployment.ts'

const document = (mark: number, groups: string[]) => ({
  schema: 'holdfast.policy/1',
  resources: { wiki: { cidrs: [`10.0.${mark % 250}.0/24`] } },
  rules: [{ id: 'wiki', action: 'allow', from: { groups }, to: ['wiki'] }],
})

test('one sequence number stands for one digest of a device, on two replicas, while everything changes', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'anna' } } })
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'engineering' } } })
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0, user_id: user.user_id } })
  const devices: RawDevice[] = []
  for (let i = 0; i < 3; i++) devices.push(await enrollRaw(kit, token, `device ${i}`))
  const admins = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))

  const digests = new Map<string, Set<string>>()
  let polls = 0
  let goesOn = true
  const poll = async (device: RawDevice, replica: Replica) => {
    while (goesOn) {
      const { status, json } = await call({ ...kit, ...replica }, operation('policyDigest'), device.caller)
      assert.equal(status, 200)
      const key = `${device.id} at ${json.seq}`
      digests.set(key, (digests.get(key) ?? new Set()).add(String(json.digest)))
      polls++
    }
  }
  const polling = devices.flatMap((device) => kit.replicas.map((replica) => poll(device, replica)))
  for (let i = 0; i < 14; i++) {
    const [own, other] = [admins[i % 2]!, admins[(i + 1) % 2]!]
    const members = i % 3 === 0 ? { add_members: [user.user_id] } : { remove_members: [user.user_id] }
    await Promise.all([
      own.publishPolicy({ body: { channel: 'stable', policy: document(i, ['engineering']) } }),
      other.changeGroup({ body: { operation: 'update', group_id: group.group_id, group: members } }),
      own.changeDevice({ body: { operation: 'update', device_id: devices[0]!.id, device: { tags: [`t${i}`] } } }),
    ])
  }
  goesOn = false
  await Promise.all(polling)
  const twice = [...digests].filter(([, found]) => found.size > 1)
  t.diagnostic(`${polls} polls, ${digests.size} numbers of devices, ${twice.length} with two digests`)
  assert.ok(digests.size > 20)
  assert.deepEqual(twice, [])
})

test('what time ends has a number of its own, by the policy that holds now', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { client } = await enroll(kit, 'laptop', { now: clock.now })
  const publish = (freshness_seconds: number) =>
    kit.admin.publishPolicy({
      body: {
        channel: 'stable',
        policy: {
          schema: 'holdfast.policy/1',
          resources: { wiki: { cidrs: ['10.1.0.0/16'] } },
          rules: [{ id: 'wiki', action: 'allow', from: { any: true }, to: ['wiki'], when: { posture: ['disk'] } }],
          posture_checks: { disk: { expression: 'disk.encrypted', enforcement: 'enforce', freshness_seconds } },
        },
      },
    })
  await publish(3600)
  const shut = await client.policyDigest()
  await client.reportPosture({ body: { facts: { 'disk.encrypted': true, 'screen_lock.enabled': true } } })
  const open = await client.policyDigest()
  assert.notEqual(open.digest, shut.digest)
  const held = await kit.app.fleet.all(kit.tenant)
  assert.deepEqual(
    [...held.values()].map((d) => d.posture?.facts),
    [{ 'disk.encrypted': true }],
    'only what a check reads is held',
  )
  await publish(300)
  const still = await client.policyDigest()
  assert.equal(still.digest, open.digest)
  clock.advance(301)
  const [ended, again] = [await client.policyDigest(), await client.policyDigest()]
  assert.equal(ended.digest, shut.digest)
  assert.ok(ended.seq > still.seq, 'the end has a number of its own')
  assert.equal(again.seq, ended.seq, 'and ends once')

  await client.reportPosture({ body: { facts: { 'disk.encrypted': true } } })
  clock.advance(301)
  const before = kit.app.feed.seqOf(kit.tenant)
  await runJob(kit.app, 'expire_posture')
  assert.equal(kit.app.feed.seqOf(kit.tenant), before + 1, 'the sweep tells of those who do not ask')
  await runJob(kit.app, 'expire_posture')
  assert.equal(kit.app.feed.seqOf(kit.tenant), before + 1)
})
