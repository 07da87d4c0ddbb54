import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '@holdfast/sdk'
import { sql } from 'kysely'
import { encodeId } from '../../src/kernel/ids.ts'
import { audited, enroll, open, publish, refused, rule, withGateway } from '../gateways.ts'
import { createClock, runJob, startKit, times } from '../kit.ts'
import { makeUser, signInAs, trySignIn } from '../people.ts'
import { until } from '../promptly.ts'
import { followingGateways } from '../workflows.ts'

const everybody = [rule('all', { any: true }, ['pool'])]
type Target = Parameters<Client['createLock']>[0]['body']['target']

test('what is locked is out within a second on two replicas and at its gateways, and comes back as it was', async (t) => {
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
    const heard = performance.now()
    await kit.heard()
    assert.deepEqual(await outcomes(), new Set(bound), `${target.type}: refused on both replicas`)
    await until(() => bound.every((id) => !peers().has(id)), `${target.type}: its gateway`)
    const took = performance.now() - heard
    assert.ok(took < 1000, `${target.type}: after ${Math.round(took)} ms`)
    assert.equal(peers().size, all.length - bound.length)
    assert.deepEqual((await kit.admin.listLocks()).items, [lock])

    const released = await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: {} })
    assert.deepEqual([released.changed, released.lock.status], [true, 'released'])
    await kit.heard()
    assert.deepEqual(await outcomes(), new Set(), `${target.type}: as before`)
    await until(() => peers().size === all.length, `${target.type}: its gateway again`)
  }
  // Whoever joins a group that is locked is bound from then on, and whatever was suspended beside stays so.
  await kit.admin.createLock({ body: { target: { type: 'group', id: group.group_id }, reason: 'tried' } })
  await kit.admin.changeGroup({
    body: { operation: 'update', group_id: group.group_id, group: { add_members: [user_id] } },
  })
  await kit.heard()
  assert.deepEqual(await outcomes(), new Set([devices.ofAda.id, devices.ofBob.id]))
})
const statusOf = (client: { policyDigest: () => Promise<unknown> }): Promise<number> =>
  client.policyDigest().then(
    () => 200,
    (e) => e.status,
  )

test('a locked person has no session, no key and no way in', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await makeUser(kit, 'another', ['tenant_admin'])
  const user_id = await makeUser(kit, 'ada', ['tenant_admin'])
  const ada = await signInAs(kit, 'ada')
  const made = await ada.post('/v1/admin/api-keys', { name: 'hers', role: 'viewer' })
  const hers = kit.clientFor(made.json.secret, kit.replicas[1])
  assert.equal((await hers.me()).credential, 'api_key')
  const { lock } = await kit.admin.createLock({ body: { target: { type: 'user', id: user_id }, reason: 'phished' } })
  await kit.heard()
  for (const replica of kit.replicas) assert.equal((await ada.get('/v1/admin/me', replica)).status, 401)
  await assert.rejects(hers.me(), refused(401))
  assert.equal((await trySignIn(kit, 'ada')).status, 401, 'with the right password')
  const [failed] = (await audited(kit, 'login.failed')) as { failure_reason?: string }[]
  assert.equal(failed?.failure_reason, 'suspended', 'and on record')
  await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: { reason: 'it was not her' } })
  await kit.heard()
  assert.equal((await ada.get('/v1/admin/me')).status, 401, 'the session has ended')
  assert.equal((await (await signInAs(kit, 'ada')).get('/v1/admin/me')).status, 200)
  assert.equal((await hers.me()).credential, 'api_key')
})

test('a locked gateway is told nothing, carries nothing and is offered to nobody', async (t) => {
  const kit = await startKit(t)
  const made = await withGateway(kit, 'g1', 'pool')
  await publish(kit, everybody)
  const device = await enroll(kit, 'laptop')
  const gateway = open(kit, made)
  await gateway.pull()
  await gateway.meter([
    {
      session_id: encodeId('vpn_session', crypto.randomUUID()),
      device_id: device.id,
      state: 'active',
      rx_bytes: 1,
      tx_bytes: 1,
    },
  ])
  const offered = async () => (await device.directory()).flatMap((pool) => pool.gateways.map((g) => g.name))
  assert.deepEqual(await offered(), ['g1'])
  const held = assert.rejects(gateway.pull({ wait: 20 }), refused(401), 'also who waits')
  await until(() => kit.app.gateways.waiting() === 1)
  const target = { type: 'gateway', id: made.gateway.gateway_id } as const
  const { lock } = await kit.admin.createLock({ body: { target, reason: 'its disk was copied' } })
  await held
  await assert.rejects(gateway.pull(), refused(401))
  assert.deepEqual(await offered(), [])
  assert.deepEqual((await kit.admin.listSessions()).items, [])
  assert.equal(((await audited(kit, 'gateway.refused'))[0] as { reason?: string }).reason, 'suspended')
  await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: {} })
  await gateway.pull()
  assert.deepEqual(await offered(), ['g1'])
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

test('nobody locks themselves, whoever may do more, or the last who administers', async (t) => {
  const kit = await startKit(t)
  const chief = await makeUser(kit, 'chief', ['tenant_admin'])
  const herself = await makeUser(kit, 'eve', ['security_admin'])
  const eve = await signInAs(kit, 'eve')
  const lock = (id: string) => eve.post('/v1/admin/locks', { target: { type: 'user', id }, reason: 'tried' })
  assert.equal((await lock(herself)).status, 403)
  assert.equal((await lock(chief)).status, 403)
  const boss = await signInAs(kit, 'chief')
  const admin = (await kit.admin.listUsers({ query: { q: 'admin' } })).items[0]!
  assert.equal(
    (await boss.post('/v1/admin/locks', { target: { type: 'user', id: admin.user_id }, reason: 'x' })).status,
    403,
  )
  await assert.rejects(
    kit.admin.createLock({ body: { target: { type: 'user', id: admin.user_id }, reason: 'tried' } }),
    refused(422, /last active platform_admin/),
  )
  await assert.rejects(
    (await kit.as('operator')).createLock({ body: { target: { type: 'tenant' }, reason: 'tried' } }),
    refused(403),
  )
  await assert.rejects(
    kit.admin.createLock({ body: { target: { type: 'device', id: 'dev_x' }, reason: 'tried' } }),
    refused(404),
  )
})

test('a lock ends by itself, and no earlier', async (t) => {
  // Nobody asks the clock of a replica.
  const ahead = createClock(600_000)
  const kit = await startKit(t, { now: ahead.now })
  const device = await enroll(kit, 'laptop', { now: ahead.now })
  const { lock } = await kit.admin.createLock({
    body: { target: { type: 'device', id: device.id }, reason: 'on a journey', expires_in_seconds: 60 },
  })
  assert.equal(await runJob(kit.app, 'end_locks'), 0)
  assert.equal(await statusOf(device.client), 401)
  assert.ok(Math.abs(Date.parse(lock.expires_at ?? '') - Date.now() - 60_000) < 20_000, lock.expires_at ?? '')
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx.updateTable('locks').set({ expires_at: sql`now()` }).where('tenant_id', '=', kit.tenant).execute(),
  )
  assert.equal(await statusOf(device.client), 401, 'until it is released, and on record as such')
  assert.equal(await runJob(kit.app, 'end_locks'), 1)
  assert.equal(await statusOf(device.client), 200)
  const [event] = await audited(kit, 'lock.released')
  assert.deepEqual([event?.actor.type, event?.details], ['job', { reason: 'expired' }])
})
