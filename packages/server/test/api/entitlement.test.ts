import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countedMetrics } from '@holdfast/contract/vocabulary'
import { generateKey } from '@holdfast/crypto'
import { encodeId } from '../../src/kernel/ids.ts'
import { enrollRaw } from '../support/actors/devices.ts'
import { makeGateway, meteringReport, newWireguardKey } from '../support/actors/gateways.ts'
import { refused } from '../support/clients/answers.ts'
import { type ApiAnswer, bearer, call, deviceCaller, operation } from '../support/clients/api-calls.ts'
import { createScimDirectory, scimUser } from '../support/clients/scim-client.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { startTenant } from '../support/deployment/tenants.ts'
import { assertLimitReported, limitStatus, reportedLimits, setLimits, usedOf } from '../support/domain/tenant-limits.ts'
import { directoryUsers, snapshotOf } from '../support/providers/directory-snapshots.ts'

/** Twenty concurrent requests on two replicas. Returns those that were admitted; all others must name the reason. */
async function rush(kit: Kit, ask: (at: Kit, i: number) => Promise<ApiAnswer>): Promise<ApiAnswer[]> {
  const answers = await times(20, (i) => ask({ ...kit, ...kit.replicas[i % 2]! }, i))
  const refused = answers.filter((a) => a.status !== 201)
  for (const a of refused) assert.deepEqual([a.status, a.json.error], [409, 'entitlement_exceeded'], a.text)
  return answers.filter((a) => a.status === 201)
}
const create =
  (name: Parameters<typeof operation>[0], body: (i: number) => object, path?: string) => (at: Kit, i: number) =>
    call(at, { ...operation(name), ...(path && { path }) }, bearer(at.adminKey), body(i))

test('limits of tenants, on two replicas', async (t) => {
  const deployment = await startKit(t, { replicas: 2 })

  await t.test(
    'of 20 concurrent enrollments on two replicas against a limit of 5 exactly 5 succeed, and a revocation frees one',
    async () => {
      const kit = await startTenant(deployment)
      await setLimits(kit, { devices: 5 })
      const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
      const enroll = (at: Kit, i: number) =>
        call(at, operation('enroll'), deviceCaller(token, generateKey('ES256').privateJwk), {
          device: { name: `d${i}`, platform: 'linux' },
        })
      const made = await rush(kit, enroll)
      assert.equal(made.length, 5)
      await assertLimitReported(kit, 'devices', 5)
      const device_id = String(made[0]!.json.device_id)
      await kit.admin.changeDevice({ body: { operation: 'revoke', device_id } })
      assert.equal((await rush(kit, enroll)).length, 1)
      await kit.admin.changeDevice({ body: { operation: 'revoke', device_id } })
      assert.equal((await rush(kit, enroll)).length, 0, 'a revocation frees one place')
      const { metrics } = await kit.admin.getEntitlementStatus({
        params: { tenant_id: encodeId('tenant', kit.tenant) },
      })
      assert.deepEqual(
        metrics.find((m) => m.metric === 'devices'),
        { metric: 'devices', used: 5, limit: 5, remaining: 0, percent: 100, state: 'at_limit', enforcement: 'hard' },
      )
    },
  )

  await t.test('of concurrent users, API keys and gateways exactly as many as the limit are created', async () => {
    const kit = await startTenant(deployment)
    const has = { users: await usedOf(kit, 'users'), api_keys: await usedOf(kit, 'api_keys') }
    await setLimits(kit, { users: has.users + 5, api_keys: has.api_keys + 5, gateways: 5 })

    const newUser = create('changeUser', (i) => ({ operation: 'create', user: { username: `u${i}${Math.random()}` } }))
    const users = await rush(kit, newUser)
    assert.equal(users.length, 5)
    await assertLimitReported(kit, 'users', has.users + 5)
    const { user_id } = users[0]!.json.user as { user_id: string }
    await kit.admin.suspendUser({ body: { user_id } })
    assert.equal((await rush(kit, newUser)).length, 1)
    await assert.rejects(
      kit.admin.reactivateUser({ body: { user_id } }),
      refused(409, /users: (\d+) of \1 are in use, and 1 more were requested/),
    )
    assert.equal((await kit.admin.getUser({ params: { user_id } })).status, 'suspended', 'nothing half done')
    await kit.admin.changeUser({ body: { operation: 'delete', user_id } })
    assert.equal((await rush(kit, newUser)).length, 0, 'a suspended user was not counted')

    const newKey = create('createApiKey', (i) => ({ name: `k${i}`, role: 'viewer' }))
    const keys = await rush(kit, newKey)
    assert.equal(keys.length, 5)
    await assertLimitReported(kit, 'api_keys', has.api_keys + 5)
    const { key_id } = keys[0]!.json.api_key as { key_id: string }
    for (const _ of [1, 2]) await kit.admin.revokeApiKey({ params: { key_id }, body: {} })
    assert.equal((await rush(kit, newKey)).length, 1)

    const { pool_id } = await kit.admin.createGatewayPool({ body: { name: 'p', region: { code: 'eu' } } })
    const path = `/v1/admin/settings/gateway-pools/${pool_id}/gateways`
    const newGateway = create('createGateway', (i) => ({ name: `g${i}${Math.random()}` }), path)
    const gateways = await rush(kit, newGateway)
    assert.equal(gateways.length, 5)
    await assertLimitReported(kit, 'gateways', 5)
    const { gateway_id } = gateways[0]!.json.gateway as { gateway_id: string }
    await kit.admin.deleteGateway({ params: { gateway_id } })
    assert.equal((await rush(kit, newGateway)).length, 1)
  })

  await t.test('an expired API key frees its place', async () => {
    const kit = await startTenant(deployment)
    await setLimits(kit, { api_keys: (await usedOf(kit, 'api_keys')) + 1 })
    const { api_key } = await kit.admin.createApiKey({
      body: { name: 'short', role: 'viewer', expires_in_seconds: 60 },
    })
    await assert.rejects(kit.admin.createApiKey({ body: { name: 'next', role: 'viewer' } }), refused(409))
    await kit.db.inTenant(kit.tenant, (tx) =>
      tx
        .updateTable('api_keys')
        .set({ expires_at: new Date(Date.now() - 1000) })
        .where('tenant_id', '=', kit.tenant)
        .where('hint', '=', api_key.hint)
        .execute(),
    )
    await kit.admin.createApiKey({ body: { name: 'next', role: 'viewer' } })
  })

  await t.test('a batch is admitted whole or not at all', async () => {
    const kit = await startTenant(deployment)
    const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
    const made = await times(6, (i) => enrollRaw(kit, token, `d${i}`))
    const device_ids = made.map((d) => d.id)
    await kit.admin.changeDevices({ body: { operation: 'suspend', device_ids } })
    assert.equal(await usedOf(kit, 'devices'), 0)
    await setLimits(kit, { devices: 5 })
    await assert.rejects(
      kit.admin.changeDevices({ body: { operation: 'reactivate', device_ids } }),
      refused(409, /0 of 5 are in use, and 6 more/),
    )
    assert.equal(await usedOf(kit, 'devices'), 0)
    const five = await kit.admin.changeDevices({ body: { operation: 'reactivate', device_ids: device_ids.slice(1) } })
    assert.equal(five.summary.changed, 5)
    await assert.rejects(
      kit.admin.changeDevice({ body: { operation: 'reactivate', device_id: device_ids[0]! } }),
      refused(409),
    )
    const dry = await kit.admin.changeDevices({ body: { operation: 'reactivate', device_ids, dry_run: true } })
    assert.equal(dry.summary.changed, 1, 'a dry run says what would move')
  })

  await t.test('a directory snapshot is admitted whole, and users who leave make room for those who join', async () => {
    const kit = await startTenant(deployment)
    const before = await usedOf(kit, 'users')
    await setLimits(kit, { users: before + 10 })
    const push = (n: number, from: number) =>
      kit.admin.ingestDirectorySnapshot({ body: { ...snapshotOf(directoryUsers(n, from)), confirm_mass_change: true } })
    await assert.rejects(push(11, 0), refused(409, /and 11 more were requested/))
    assert.equal(await usedOf(kit, 'users'), before, 'nothing of it is there')
    await push(10, 0)
    assert.equal(await usedOf(kit, 'users'), before + 10)
    await push(10, 5)
    assert.equal(await usedOf(kit, 'users'), before + 10)
    await assert.rejects(push(15, 0), refused(409, /and 5 more were requested/))

    const { scim } = await createScimDirectory(kit)
    const answer = await scim.post('Users', scimUser('one-more'))
    assert.deepEqual([answer.status, answer.json.status], [409, '409'], answer.text)
  })

  await t.test('sessions above the limit are ended and their gateway is told; running sessions stay', async () => {
    const kit = await startTenant(deployment)
    const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
    const devices = await times(4, (i) => enrollRaw(kit, token, `d${i}`))
    const { client } = await makeGateway(kit)
    const samples = devices.map((d) => ({
      session_id: encodeId('vpn_session', crypto.randomUUID()),
      device_id: d.id,
      state: 'active',
      rx_bytes: 10,
      tx_bytes: 1,
    }))
    await setLimits(kit, { sessions: 2 })
    const first = await client.metering({ body: meteringReport(samples.slice(0, 2)) as never })
    assert.equal(first.accepted, 2)
    await setLimits(kit, { sessions: 1 })
    const second = await client.metering({ body: meteringReport(samples) as never })
    assert.deepEqual([second.accepted, second.rejected], [4, []], 'the reported bytes count')
    const kept = samples.slice(2).map((s) => s.session_id)
    assert.deepEqual(second.ended_sessions?.map((s) => [s.session_id, s.reason]).sort(), [
      ...kept.map((id) => [id, 'entitlement_exceeded']).sort(),
    ])
    assert.match(second.ended_sessions?.[0]?.detail ?? '', /reached the limit of its plan for VPN sessions/)
    const event = await assertLimitReported(kit, 'sessions', 1)
    assert.deepEqual([event?.used, event?.refused, event?.actor.type], [2, 2, 'gateway'])
    assert.deepEqual([...reportedLimits].sort(), [...countedMetrics].sort(), 'every limit tells')
    const heard = await call(kit, operation('telemetry'), devices[2]!.caller, {
      events: [{ event_id: 'e1', kind: 'failed', at: new Date().toISOString(), session_id: kept[0] }],
    })
    assert.deepEqual(heard.json.ended_sessions, [{ session_id: kept[0], reason: 'entitlement_exceeded' }])
    const ends = []
    for (const { session_id } of samples) ends.push((await kit.admin.getSession({ params: { session_id } })).end_reason)
    assert.deepEqual(ends, [null, null, 'entitlement_exceeded', 'entitlement_exceeded'])
    assert.equal((await limitStatus(kit)).of('sessions').state, 'over')

    // A device that returns replaces its own session.
    const again = { ...samples[0]!, session_id: encodeId('vpn_session', crypto.randomUUID()) }
    await client.metering({ body: meteringReport([again]) as never })
    const now = await kit.admin.listSessions({ query: { state: 'active' } })
    assert.ok(now.items.some((x) => x.session_id === again.session_id))
    assert.equal(await usedOf(kit, 'sessions'), 2)
  })

  await t.test('a lowered limit removes nothing, and alerts report once that usage is near it', async () => {
    const kit = await startTenant(deployment)
    const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
    const devices = await times(8, (i) => enrollRaw(kit, token, `d${i}`))
    const alerts = async () =>
      (await kit.admin.listEntitlementAlerts({ params: { tenant_id: encodeId('tenant', kit.tenant) } })).items
    assert.deepEqual(await alerts(), [])
    await setLimits(kit, { devices: 10 })
    assert.deepEqual(
      (await alerts()).map((a) => [a.metric, a.level, a.used, a.limit]),
      [['devices', 'approaching', 8, 10]],
    )
    await setLimits(kit, { devices: 8 })
    assert.equal((await alerts())[0]?.level, 'at_limit')
    await setLimits(kit, { devices: 3 })
    assert.equal((await alerts())[0]?.level, 'over')
    for (const d of devices) assert.equal((await call(kit, operation('policyDigest'), d.caller)).status < 500, true)
    assert.deepEqual((await limitStatus(kit)).blocked, ['devices'])

    for (const _ of [1, 2]) await runJob(kit.app, 'watch_entitlements')
    const { since } = (await alerts())[0]!
    const told = (await kit.admin.listNotifications({ query: {} })).items.filter((n) => n.kind === 'entitlement.over')
    assert.equal(told.length, 1)
    await runJob(kit.app, 'watch_entitlements')
    assert.equal((await alerts())[0]!.since, since, 'since when it is so stays')
    await setLimits(kit, { devices: null })
    await runJob(kit.app, 'watch_entitlements')
    assert.deepEqual(await alerts(), [])
  })

  await t.test('a change of a plan applies to all its tenants at once', async () => {
    const kit = await startTenant(deployment)
    const plan = await kit.admin.createPlan({ body: { name: 'team', limits: { gateways: 1 }, features: ['siem'] } })
    const tenant_id = encodeId('tenant', kit.tenant)
    await kit.admin.changeTenant({ body: { operation: 'update', tenant_id, tenant: { plan_id: plan.plan_id } } })
    const { pool } = await makeGateway(kit)
    const another = () =>
      kit.admin.createGateway({
        params: { pool_id: pool.pool_id },
        body: { name: `g${Math.random()}`, public_key: newWireguardKey() },
      })
    await assert.rejects(another(), refused(409, /gateways: 1 of 1/))
    const resolved = await kit.admin.getEntitlement({ params: { tenant_id } })
    assert.deepEqual(
      [resolved.plan, resolved.edition, resolved.limits.gateways, resolved.sources.gateways, resolved.features],
      ['team', 'community', 1, 'plan', ['siem']],
    )
    const { tenants, plan_id, created_at, updated_at, ...fields } = await kit.admin.getPlan({
      params: { plan_id: plan.plan_id },
    })
    assert.equal(tenants, 1)
    await kit.admin.updatePlan({ params: { plan_id }, body: { ...fields, limits: { gateways: 2 } } })
    await another()
    await assert.rejects(kit.admin.deletePlan({ params: { plan_id } }), refused(422, /1 tenants have the plan/))
  })

  await t.test('a wrong counter is found by the nightly job, corrected and recorded', async () => {
    const kit = await startTenant(deployment)
    const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
    await times(3, (i) => enrollRaw(kit, token, `d${i}`))
    assert.equal(await runJob(kit.app, 'reconcile_entitlements'), 0)
    await runJob(kit.app, 'count_entitlements')
    assert.equal(await usedOf(kit, 'devices'), 3, 'adding up changes nothing')
    await kit.db.inTenant(kit.tenant, (tx) =>
      tx
        .updateTable('entitlement_counters')
        .set({ used: 7 })
        .where('tenant_id', '=', kit.tenant)
        .where('metric', '=', 'devices')
        .execute(),
    )
    const put = await times(20, (i) => runJob(kit.replicas[i % 2]!.app, 'reconcile_entitlements'))
    assert.deepEqual(
      put.filter((n) => n !== 0),
      [1],
      'once, whoever looks at the same moment',
    )
    assert.equal(await usedOf(kit, 'devices'), 3)
    const { items } = await kit.admin.listAuditEvents({ query: { kind: 'entitlement.reconciled' } })
    const { metric, counted, found } = items[0] as unknown as Record<string, unknown>
    assert.deepEqual([metric, counted, found], ['devices', 7, 3])
  })
})
