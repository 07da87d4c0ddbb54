import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { inBatches } from '../../src/kernel/batches.ts'
import { encodeId } from '../../src/kernel/ids.ts'
import { type DueLock, dueLocks } from '../../src/modules/locks/locks.queries.ts'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { enroll } from '../support/actors/devices.ts'
import { gatewayAgent, makeGateway } from '../support/actors/gateways.ts'
import { makeUser, signInAs, trySignIn } from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { createClock, runJob, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { policyStatus, publish, rule } from '../support/domain/policy.ts'

const everybody = [rule('all', { any: true }, ['pool'])]

test('a locked user has no session, no key and no sign-in', async (t) => {
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
  await assert.rejects(enroll(kit, 'another of hers', { user_id }), refused(403, /is suspended, locked or deleted/))
  const [failed] = (await eventsOf(kit, 'login.failed')) as { failure_reason?: string }[]
  assert.equal(failed?.failure_reason, 'suspended', 'and on record')
  await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: { reason: 'it was not her' } })
  await kit.heard()
  assert.equal((await ada.get('/v1/admin/me')).status, 401, 'the session has ended')
  assert.equal((await (await signInAs(kit, 'ada')).get('/v1/admin/me')).status, 200)
  assert.equal((await hers.me()).credential, 'api_key')
})

test('a locked gateway gets no policy, has no sessions and is offered to no device', async (t) => {
  const kit = await startKit(t)
  const made = await makeGateway(kit, 'g1', 'pool')
  await publish(kit, everybody)
  const device = await enroll(kit, 'laptop')
  const gateway = gatewayAgent(kit, made)
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
  assert.equal(((await eventsOf(kit, 'gateway.refused'))[0] as { reason?: string }).reason, 'suspended')
  const [health] = (await kit.admin.gatewayHealth()).items
  assert.match(health?.problems.find((p) => p.code === 'closed')?.detail ?? '', /locked/)
  await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: {} })
  await gateway.pull()
  assert.deepEqual(await offered(), ['g1'])
})

test('a user cannot lock themselves, a stronger user or the last administrator', async (t) => {
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

test('no certificate is issued for a device under a lock', async (t) => {
  const kit = await startKit(t)
  const user_id = await makeUser(kit, 'ada')
  const device = await enroll(kit, 'laptop', { user_id })
  const issue = async () => kit.admin.issueSpc({ body: { csr: await newCsr(), device_id: device.id } })
  const targets = [{ type: 'device', id: device.id }, { type: 'user', id: user_id }, { type: 'tenant' }] as const
  for (const target of targets) {
    const { lock } = await kit.admin.createLock({ body: { target, reason: 'tried' } })
    await assert.rejects(issue(), refused(422, /the device, its user, group or tenant is locked/), target.type)
    await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: {} })
  }
  await issue()
})

test('a lock ends at its expiry by the database time, and no earlier', async (t) => {
  // The clock of a replica plays no role.
  const ahead = createClock(600_000)
  const kit = await startKit(t, { now: ahead.now })
  const device = await enroll(kit, 'laptop', { now: ahead.now })
  const { lock } = await kit.admin.createLock({
    body: { target: { type: 'device', id: device.id }, reason: 'on a journey', expires_in_seconds: 60 },
  })
  assert.equal(await runJob(kit.app, 'end_locks'), 0)
  assert.equal(await policyStatus(device.client), 401)
  assert.ok(Math.abs(Date.parse(lock.expires_at ?? '') - Date.now() - 60_000) < 20_000, lock.expires_at ?? '')
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx.updateTable('locks').set({ expires_at: sql`now()` }).where('tenant_id', '=', kit.tenant).execute(),
  )
  assert.equal(await policyStatus(device.client), 401, 'until it is released, and on record as such')
  assert.equal(await runJob(kit.app, 'end_locks'), 1)
  assert.equal(await policyStatus(device.client), 200)
  const [event] = await eventsOf(kit, 'lock.released')
  assert.deepEqual([event?.actor.type, event?.details], ['job', { reason: 'expired' }])
})

test('a lock ends when its target is deleted', async (t) => {
  const kit = await startKit(t)
  const { gateway } = await makeGateway(kit, 'g1', 'pool')
  const device = await enroll(kit, 'laptop')
  const kept = await enroll(kit, 'phone')
  const user_id = await makeUser(kit, 'ada')
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'field' } } })
  const inGroup = await enroll(kit, 'of the group', { group_ids: [group.group_id] })
  const lock = (type: 'device' | 'gateway' | 'group' | 'user', id: string) =>
    kit.admin.createLock({ body: { target: { type, id }, reason: 'lost' } })
  await Promise.all([lock('device', device.id), lock('user', user_id), lock('device', kept.id)])
  await Promise.all([lock('gateway', gateway.gateway_id), lock('group', group.group_id)])
  assert.equal(await runJob(kit.app, 'end_locks'), 0)
  assert.equal(await policyStatus(inGroup.client), 401)
  await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: device.id } })
  await kit.admin.deleteGateway({ params: { gateway_id: gateway.gateway_id } })
  await kit.admin.changeUser({ body: { operation: 'delete', user_id } })
  await kit.admin.changeGroup({ body: { operation: 'delete', group_id: group.group_id } })
  const one = async (after: DueLock | undefined) => kit.db.acrossTenants((tx) => dueLocks(tx, after, 1))
  const due = await Array.fromAsync(inBatches<DueLock>(1, one))
  assert.equal(new Set(due.flat().map((l) => l.lock_id)).size, 4, 'read one by one, each is found once')
  assert.equal(due.length, 4)
  const ended = await Promise.all([runJob(kit.app, 'end_locks'), runJob(kit.app, 'end_locks')])
  assert.equal(ended[0]! + ended[1]!, 4)
  const left = (await kit.admin.listLocks()).items.map((l) => l.target.name)
  assert.deepEqual(left, ['phone'])
  assert.deepEqual([await policyStatus(inGroup.client), await policyStatus(kept.client)], [200, 401])
  for (const event of await eventsOf(kit, 'lock.released'))
    assert.deepEqual([event.actor.type, event.details], ['job', { reason: 'its target was deleted' }])
})
