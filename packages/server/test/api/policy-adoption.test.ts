import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { decodeId } from '../../src/kernel/ids.ts'
import { followedMs, gridTimes } from '../../src/modules/dashboard/adoption-grid.ts'
import { enroll } from '../support/actors/devices.ts'
import { makeGateway } from '../support/actors/gateways.ts'
import { refused } from '../support/clients/answers.ts'
import { tenantSequence } from '../support/database/tenant-sequence.ts'
import { withClient } from '../support/database/test-database.ts'
import { createClock, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { publish, rule } from '../support/domain/policy.ts'
import { runRetention } from '../support/domain/retention.ts'

test('sampling times are dense at first and end after 30 days', () => {
  const second = 1000
  assert.deepEqual(gridTimes(0, null, 25 * second), [0, 10_000, 20_000])
  assert.deepEqual(gridTimes(0, 20_000, 29 * second), [])
  const all = gridTimes(0, null, 40 * 86_400 * second)
  const steps = all.slice(1).map((at, i) => (at - all[i]!) / second)
  assert.deepEqual([...new Set(steps)], [10, 300, 3600])
  assert.equal(all.at(-1), followedMs)
  assert.ok(all.length < 1100)
  // Times computed in parts are the same.
  const inParts: number[] = []
  for (let until = 7000; until < 90_000 * second; until += 47_000)
    inParts.push(...gridTimes(0, inParts.at(-1) ?? null, until))
  assert.deepEqual(inParts, all.slice(0, inParts.length))
})

test('adoption of a policy version over time, and the fleet by version', async (t: TestContext) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const { admin } = kit
  const devices = await times(4, (i) => enroll(kit, `d${i}`, { now: clock.now }))
  const { client: gateway } = await makeGateway(kit, 'g')
  await makeGateway(kit, 'never heard of')
  const before = await tenantSequence(kit)
  const beat = (policy_seq: number) =>
    gateway.heartbeat({ body: { boot_id: 'boot', active_sessions: 0, applied: { policy_seq } } })
  await beat(before)
  const { bundle_id, published_at } = await publish(kit, [rule('all', { any: true })])
  const at = (seconds: number) => new Date(Date.parse(published_at) + seconds * 1000)
  /** Advances to a time after the publication, without the time that the machine has used. */
  const goTo = (seconds: number) => clock.advance((at(seconds).getTime() - clock.now().getTime()) / 1000)
  const apply = async ({ id, client }: (typeof devices)[number]) => {
    const { policy } = await admin.getDevice({ params: { device_id: id } })
    const event = { event_id: crypto.randomUUID(), kind: 'policy_applied' as const, at: clock.now().toISOString() }
    await client.telemetry({ body: { events: [{ ...event, policy_digest: policy.digest! }] } })
  }
  const sample = () => Promise.all(kit.replicas.map(({ app }) => runJob(app, 'sample_adoption')))
  const adoption = () => admin.getPolicyAdoption({ params: { bundle_id } })
  const pointsIn = async () =>
    (await adoption()).points.map((p) => [
      ...[(Date.parse(p.at) - Date.parse(published_at)) / 1000, p.devices.applied, p.devices.pending],
      ...[p.gateways.applied, p.gateways.pending],
    ])

  await t.test('a point is stored once for each change, even if the job runs late', async () => {
    goTo(15)
    await apply(devices[0]!)
    goTo(35)
    await apply(devices[1]!)
    await beat(await tenantSequence(kit))
    goTo(62)
    await sample()
    await sample()
    assert.deepEqual(await pointsIn(), [
      [0, 0, 4, 0, 1],
      [20, 1, 3, 0, 1],
      [40, 2, 2, 1, 0],
    ])
    goTo(130)
    await sample()
    assert.equal((await pointsIn()).length, 3, 'nothing changed')
    await apply(devices[2]!)
    // The device repeats its report, which does not make it late.
    await apply(devices[0]!)
    goTo(182)
    await sample()
    assert.deepEqual((await pointsIn()).slice(3), [[140, 3, 1, 1, 0]])
  })

  await t.test('adoption shows the times to 50, 90 and 99 percent', async () => {
    const half = await adoption()
    assert.deepEqual(half.devices, { time_to_50: 40, time_to_90: null, time_to_99: null })
    assert.deepEqual(half.gateways, { time_to_50: 40, time_to_90: 40, time_to_99: 40 })
    goTo(1000)
    await apply(devices[3]!)
    goTo(1210)
    await sample()
    const whole = await adoption()
    assert.deepEqual(whole.devices, { time_to_50: 40, time_to_90: 1200, time_to_99: 1200 })
    assert.deepEqual(
      [whole.running, whole.version, whole.channel, whole.published_at],
      [true, 1, 'stable', published_at],
    )
    await publish(kit, [rule('all', { any: true }), rule('more', { any: true })])
    const ended = await adoption()
    assert.deepEqual([ended.running, ended.points], [false, whole.points])
    const stranger = await kit.as('viewer', await kit.newTenant())
    await assert.rejects(stranger.getPolicyAdoption({ params: { bundle_id } }), refused(404))
  })

  await t.test('devices are counted by platform and version, now and per day', async () => {
    await kit.db.inTenant(kit.tenant, async (tx) => {
      await sql`update devices set client_version = '2.0.0', os_version = '14.1', platform = 'macos'
        where tenant_id = ${kit.tenant} and name = 'd0'`.execute(tx)
      await kit.app.changes.record(tx, kit.tenant, [{ kind: 'device', subject: decodeId('device', devices[0]!.id)! }])
    })
    await kit.heard()
    await Promise.all(kit.replicas.map(({ app }) => runJob(app, 'sample_fleet')))
    await admin.changeDevice({ body: { operation: 'revoke', device_id: devices[1]!.id } })
    const now = await admin.readFleetMetrics()
    assert.equal(now.devices, 3)
    assert.deepEqual(now.platforms, [
      { platform: 'linux', devices: 2 },
      { platform: 'macos', devices: 1 },
    ])
    assert.deepEqual(now.client_versions, [
      { client_version: '1.2.3', devices: 2 },
      { client_version: '2.0.0', devices: 1 },
    ])
    assert.deepEqual(now.os_versions, [
      { platform: 'linux', os_version: null, devices: 2 },
      { platform: 'macos', os_version: '14.1', devices: 1 },
    ])
    assert.deepEqual([now.other_client_versions, now.other_os_versions], [0, 0])
    assert.equal(now.days.length, 1)
    assert.deepEqual([now.days[0]!.devices, now.days[0]!.platforms[0]], [4, { platform: 'linux', devices: 3 }])
    clock.advance(86_400)
    await Promise.all(kit.replicas.map(({ app }) => runJob(app, 'sample_fleet')))
    const days = (await admin.readFleetMetrics()).days
    assert.deepEqual(
      days.map((d) => d.devices),
      [4, 3],
    )
    assert.equal((Date.parse(days[1]!.at) - Date.parse(days[0]!.at)) / 1000, 86_400)
    assert.deepEqual((await admin.readFleetMetrics({ query: { days: 1 } })).days, days.slice(1))
    assert.deepEqual((await admin.readFleetMetrics({ query: { days: 0 } })).days, [])
  })

  await t.test('points are deleted after 400 days', async () => {
    await withClient(kit.databaseUrl, (owner) =>
      owner.query(
        `insert into policy_adoption
         select $1, $2, now() - days * interval '1 day', 7, 7, 7, 7 from unnest(array[399, 401, 402]) as days`,
        [kit.tenant, decodeId('policy_bundle', bundle_id)],
      ),
    )
    await runRetention(kit)
    const left = await withClient(kit.databaseUrl, (owner) =>
      owner.query(`select from policy_adoption where at < now() - interval '398 days'`),
    )
    assert.equal(left.rowCount, 1)
  })

  await t.test('versions beyond the listed ones are counted together', async () => {
    const tenant = await kit.newTenant()
    await withClient(kit.databaseUrl, (owner) =>
      owner.query(
        `insert into devices (tenant_id, device_id, name, platform, client_version, status, address_number,
          credential_expires_at, credential_renew_after, enrolled_method)
         select $1, gen_random_uuid(), 'many ' || i, 'linux', 'v' || (i % 55), 'active', 5000 + i, now(), now(), 'token'
         from generate_series(0, 199) as i`,
        [tenant],
      ),
    )
    const found = await (await kit.as('viewer', tenant)).readFleetMetrics()
    // 35 versions have four devices each, 20 have three: five of these are not listed.
    assert.deepEqual([found.devices, found.client_versions.length, found.other_client_versions], [200, 50, 15])
    assert.equal(found.client_versions[0]!.devices, 4)
  })
})

test('a device that a canary does not change counts on its own channel only', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const devices = await times(5, (i) => enroll(kit, `d${i}`))
  const ids = devices.map(({ id }) => id)
  const apply = async ({ id, client }: (typeof devices)[number]) => {
    const { policy } = await admin.getDevice({ params: { device_id: id } })
    const event = { event_id: crypto.randomUUID(), kind: 'policy_applied' as const, at: new Date().toISOString() }
    await client.telemetry({ body: { events: [{ ...event, policy_digest: policy.digest! }] } })
  }
  await publish(kit, [rule('all', { any: true })])
  const policy = {
    schema: 'holdfast.policy/1',
    rules: [rule('all', { any: true }), rule('more', { devices: [ids[0]] })],
  }
  await admin.publishPolicy({ body: { channel: 'canary', policy, rollout: { device_ids: ids.slice(0, 2) } } })
  const adoptionOf = async (channel: 'canary' | 'stable') =>
    (await admin.listPolicyBundles({ query: { channel, limit: 1 } })).items[0]!.adoption
  assert.deepEqual(await adoptionOf('canary'), { applied: 0, pending: 2 })
  assert.deepEqual(await adoptionOf('stable'), { applied: 0, pending: 3 })
  for (const i of [1, 2, 3]) await apply(devices[i]!)
  assert.deepEqual(await adoptionOf('canary'), { applied: 1, pending: 1 })
  assert.deepEqual(await adoptionOf('stable'), { applied: 2, pending: 1 })
})
