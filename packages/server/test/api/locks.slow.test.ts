import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '@holdfast/sdk'
import { audited, enroll, publish, rule } from '../support/actors/gateways.ts'
import { makeUser } from '../support/actors/people.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { followingGateways } from '../support/domain/workflow-runs.ts'

const everybody = [rule('all', { any: true }, ['pool'])]
type Target = Parameters<Client['createLock']>[0]['body']['target']
const statusOf = (client: { policyDigest: () => Promise<unknown> }): Promise<number> =>
  client.policyDigest().then(
    () => 200,
    (e) => e.status,
  )

test('what is locked is out on two replicas and at its gateways, and comes back as it was', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const [gateway] = await followingGateways(kit, 1)
  await publish(kit, everybody)
  const user_id = await makeUser(kit, 'ada')
  const member = await makeUser(kit, 'bob')
  const { group } = await kit.admin.changeGroup({
    body: { operation: 'create', group: { name: 'field', members: [member] } },
  })
  const devices = {
    ofAda: await enroll(kit, 'of ada', { user_id }),
    ofBob: await enroll(kit, 'of bob', { user_id: member }),
    alone: await enroll(kit, 'alone'),
  }
  const all = Object.values(devices)
  const peers = () => new Set(gateway!.gateway.state!.peers.keys())
  const outcomes = async () => {
    const asked = all.flatMap((d) => kit.replicas.map(async (r) => [d.id, await statusOf(d.at(r))] as const))
    const found = await Promise.all(asked)
    return new Set(found.filter(([, status]) => status === 401).map(([id]) => id))
  }
  const tenant = { type: 'tenant' } as const
  const tried: [Target, string[]][] = [
    [{ type: 'device', id: devices.alone.id }, [devices.alone.id]],
    [{ type: 'user', id: user_id }, [devices.ofAda.id]],
    [{ type: 'group', id: group.group_id }, [devices.ofBob.id]],
    [tenant, all.map((d) => d.id)],
  ]
  await until(() => peers().size === all.length, 'the gateway knows all')
  for (const [target, bound] of tried) {
    const { lock, changed } = await kit.admin.createLock({ body: { target, reason: 'tried' } })
    assert.ok(changed)
    await kit.heard()
    assert.deepEqual(await outcomes(), new Set(bound), `${target.type}: refused on both replicas`)
    await until(() => bound.every((id) => !peers().has(id)), `${target.type}: its gateway`)
    assert.equal(peers().size, all.length - bound.length)
    assert.deepEqual((await kit.admin.listLocks()).items, [lock])

    const released = await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: {} })
    assert.deepEqual([released.changed, released.lock.status], [true, 'released'])
    await kit.heard()
    assert.deepEqual(await outcomes(), new Set(), `${target.type}: as before`)
    await until(() => peers().size === all.length, `${target.type}: its gateway again`)
  }
  // A user who joins a locked group is blocked from then on. Objects that were also suspended stay suspended.
  await kit.admin.createLock({ body: { target: { type: 'group', id: group.group_id }, reason: 'tried' } })
  await kit.admin.changeGroup({
    body: { operation: 'update', group_id: group.group_id, group: { add_members: [user_id] } },
  })
  await kit.heard()
  assert.deepEqual(await outcomes(), new Set([devices.ofAda.id, devices.ofBob.id]))
})

test('of twenty locks of one target there is one, and of twenty releases one', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { id } = await enroll(kit, 'laptop')
  const by = (i: number) => kit.clientFor(kit.adminKey, kit.replicas[i % 2])
  const locks = await times(20, (i) =>
    by(i).createLock({ body: { target: { type: 'device', id }, reason: `of ${i}` } }),
  )
  assert.equal(locks.filter((l) => l.changed).length, 1)
  assert.equal(new Set(locks.map((l) => l.lock.lock_id)).size, 1)
  const params = { lock_id: locks[0]!.lock.lock_id }
  const releases = await times(20, (i) => by(i).releaseLock({ params, body: {} }))
  assert.equal(releases.filter((r) => r.changed).length, 1)
  assert.equal((await audited(kit, 'lock.set')).length, 1)
  assert.equal((await audited(kit, 'lock.released')).length, 1)
})

test('a lock binds within a second, on two replicas and at its gateways', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const gateways = await followingGateways(kit, 10)
  await publish(kit, everybody)
  const device = await enroll(kit, 'laptop')
  const peers = (count: number) => gateways.every(({ gateway }) => gateway.state!.peers.size === count)
  await until(() => peers(1), 'the gateways know it')
  for (const target of [{ type: 'device', id: device.id }, { type: 'tenant' }] as const) {
    const began = performance.now()
    const { lock } = await kit.admin.createLock({ body: { target, reason: 'tried' } })
    const other = kit.replicas[1]!
    await until(async () => (await statusOf(device.at(other))) === 401, 'another replica refuses it')
    await until(() => peers(0), 'no gateway has it')
    const took = Math.round(performance.now() - began)
    t.diagnostic(`${target.type}: bound ${took} ms after the call`)
    assert.ok(took <= 1000, `${target.type}: after ${took} ms`)
    await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: {} })
    await until(() => peers(1), 'the gateways have it again')
  }
})
