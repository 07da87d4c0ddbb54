import assert from 'node:assert/strict'
import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { usualSort } from '@holdfast/contract'
import { type RawBuilder, sql } from 'kysely'
import { createPager } from '../../src/db/page.ts'
import { decodeId } from '../../src/kernel/ids.ts'
import { createPendingAdoption } from '../../src/modules/dashboard/pending-adoption.ts'
import { countOpenNotifications } from '../../src/modules/notifications/index.ts'
import { enroll, enrollRaw } from '../support/actors/devices.ts'
import { makeGateway } from '../support/actors/gateways.ts'
import { signIn } from '../support/actors/sign-in.ts'
import { refused } from '../support/clients/answers.ts'
import { tenantSequence } from '../support/database/tenant-sequence.ts'
import { createClock, type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { notice } from '../support/domain/notifications.ts'
import { publish, rule } from '../support/domain/policy.ts'

const hourMs = 3_600_000
/** Time in seconds after which all parts of the overview are refreshed. */
const allOfIt = 130

/** A fleet in every state that there is: five devices, two users, two gateways, a policy. */
async function startFleet(t: Parameters<typeof startKit>[0]) {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const devices = await times(5, (i) => enrollRaw(kit, token, `d${i}`))
  const [first, second] = devices.map((d) => d.id) as [string, string]
  await kit.admin.changeDevice({ body: { operation: 'suspend', device_id: first } })
  await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: second } })
  const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'eve' } } })
  await kit.admin.suspendUser({ body: { user_id: user!.user_id } })
  await makeGateway(kit, 'never heard of')
  const { client } = await makeGateway(kit, 'heard of')
  await client.metering({ body: { report_id: 'r', boot_id: 'b', sequence: 1, ...interval(clock.now()), samples: [] } })
  await publish(kit, [rule('all', { any: true })])
  return { kit, clock, devices }
}
const interval = (at: Date) => ({
  interval_start: new Date(at.getTime() - 60_000).toISOString(),
  interval_end: at.toISOString(),
})
const enrollmentsIn = (series: readonly { enrollments: number }[]) => series.reduce((n, s) => n + s.enrollments, 0)
const failSignIn = (kit: Kit) => signIn(kit.url, { username: 'admin', password: 'wrong' })

test('the fleet overview', async (t) => {
  const { kit, clock, devices } = await startFleet(t)

  await t.test('the overview counts the fleet, equally on both replicas', async () => {
    assert.equal((await failSignIn(kit)).status, 401)
    await kit.admin.listAuditEvents({ query: { limit: 1 } })
    const viewer = await kit.keyFor('viewer')
    const [shown, there] = await Promise.all(kit.replicas.map((r) => kit.clientFor(viewer, r).dashboardOverview()))
    assert.deepEqual(shown!.devices, {
      status: { pending: 0, active: 3, suspended: 1, revoked: 1 },
      effective_status: {
        active: 3,
        pending: 0,
        suspended: 1,
        locked: 0,
        user_suspended: 0,
        user_deleted: 0,
        expired: 0,
        revoked: 1,
      },
      posture: { compliant: 0, non_compliant: 0, unknown: 4 },
    })
    assert.deepEqual(shown!.users, { active: 1, suspended: 1 })
    assert.deepEqual([shown!.gateways.status.healthy, shown!.gateways.status.never_seen], [1, 1])
    const [channel, ...others] = shown!.policy
    assert.deepEqual([channel!.channel, channel!.version, others], ['stable', 1, []])
    assert.deepEqual(
      [channel!.devices, channel!.gateways],
      [
        { applied: 0, pending: 3 },
        { applied: 0, pending: 1 },
      ],
    )
    assert.equal(shown!.logins.failed_24h, 1)
    assert.equal(shown!.series.length, 24)
    assert.equal(enrollmentsIn(shown!.series), 5)
    assert.equal(shown!.usage.find((u) => u.metric === 'devices')?.used, 3)
    assert.deepEqual(there, shown)
  })

  await t.test(
    'hourly counts equal the events in the log; series are by hour or day, over a limited span',
    async () => {
      await times(10, () => failSignIn(kit))
      await kit.admin.listAuditEvents({ query: { limit: 1 } })
      const eventsIn = (table: RawBuilder<unknown>, events: RawBuilder<number>) =>
        kit.db.inTenant(kit.tenant, async (tx) => {
          const { rows } = await sql<{ kind: string; outcome: string; events: number }>`
            select kind, outcome, ${events}::float8 as events from ${table}
            where tenant_id = ${kit.tenant} and kind <> 'api_key.used' group by 1, 2 order by 1, 2`.execute(tx)
          return rows
        })
      const stood = await eventsIn(sql`audit_log`, sql`count(*)`)
      const counted = await eventsIn(sql`audit_counts`, sql`sum(events)`)
      assert.deepEqual(counted, stood)
      assert.equal(stood.find((s) => s.kind === 'login.failed')?.events, 11)
      clock.advance(allOfIt)
      assert.equal((await kit.admin.dashboardOverview()).logins.failed_24h, 11)

      const from = new Date(clock.now().getTime() - 3 * hourMs).toISOString()
      const { items } = await kit.admin.listAuditEvents({ query: { kind: 'device.enrolled' } })
      const enrolled = items.map((e) => Date.parse(e.timestamp))
      // An hour, or a day, may end while this is tested.
      const within = (ms: number) => (s: { at: string }) =>
        enrolled.filter((at) => at >= Date.parse(s.at) && at < Date.parse(s.at) + ms).length
      const hours = await kit.admin.readMetrics({ query: { from, step: 'hour' } })
      assert.deepEqual([hours.series.length, enrollmentsIn(hours.series)], [4, 5])
      assert.deepEqual(
        hours.series.map((s) => s.enrollments),
        hours.series.map(within(hourMs)),
      )
      const days = await kit.admin.readMetrics()
      assert.deepEqual([days.step, enrollmentsIn(days.series)], ['day', 5])
      assert.deepEqual(
        days.series.map((s) => s.enrollments),
        days.series.map(within(24 * hourMs)),
      )
      const longAgo = new Date(clock.now().getTime() - 500 * 24 * hourMs).toISOString()
      await assert.rejects(kit.admin.readMetrics({ query: { from: longAgo } }), refused(422, /400 days/))
    },
  )

  await t.test('concurrent readers share one overview, which is some seconds old and of one tenant', async () => {
    const before = await times(20, () => kit.admin.dashboardOverview())
    for (const one of before) assert.deepEqual(one, before[0])
    await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: devices[4]!.id } })
    clock.advance(5)
    const { devices: after } = await kit.admin.dashboardOverview()
    assert.deepEqual(after.status, { pending: 0, active: 2, suspended: 1, revoked: 2 })

    const other = await kit.newTenant()
    const shown = await (await kit.as('viewer', other)).dashboardOverview()
    assert.deepEqual(shown.devices.status, { pending: 0, active: 0, suspended: 0, revoked: 0 })
    assert.deepEqual(shown.users, { active: 0, suspended: 0 })
    assert.deepEqual(shown.policy, [])
    assert.ok(shown.series.every((s) => s.enrollments + s.logins_failed + s.refused === 0))
  })
})

test('adoption shows how many devices and gateways apply the delivered policy, and which lag', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const devices = await times(3, (i) => enroll(kit, `d${i}`, { now: clock.now }))
  const { client: prompt } = await makeGateway(kit, 'prompt')
  const { client: late } = await makeGateway(kit, 'late')
  await makeGateway(kit, 'never heard of')
  const beat = (gateway: typeof prompt, policy_seq: number) =>
    gateway.heartbeat({ body: { boot_id: 'boot', active_sessions: 0, applied: { policy_seq } } })
  const before = await tenantSequence(kit)
  const { bundle_id } = await publish(kit, [rule('all', { any: true })])
  await beat(prompt, await tenantSequence(kit))
  await beat(late, before)
  const [first, ...others] = devices
  const digest = async (device_id: string) => (await kit.admin.getDevice({ params: { device_id } })).policy.digest!
  const apply = async ({ id, client }: typeof first & object) => {
    const at = clock.now().toISOString()
    const event = {
      event_id: crypto.randomUUID(),
      kind: 'policy_applied' as const,
      at,
      policy_digest: await digest(id),
    }
    await client.telemetry({ body: { events: [event] } })
  }
  await apply(first!)
  const delivered = async () => {
    clock.advance(allOfIt)
    const { policy } = await kit.admin.dashboardOverview()
    return policy.map((p) => [p.channel, p.version, p.devices, p.gateways])
  }
  assert.deepEqual(await delivered(), [['stable', 1, { applied: 1, pending: 2 }, { applied: 1, pending: 1 }]])

  const params = { bundle_id }
  const lagging = async (query = {}) => kit.admin.listPendingAdoption({ params, query })
  const all = await lagging()
  assert.deepEqual([all.items[0]!.name, all.items[0]!.type, all.next_cursor], ['late', 'gateway', null])
  assert.deepEqual(
    all.items
      .slice(1)
      .map(({ type, name, applied_digest }) => [type, name, applied_digest])
      .sort(),
    others.map((_, i) => ['device', `d${i + 1}`, null]),
  )
  const pages = []
  for (let page = await lagging({ limit: 1 }); ; page = await lagging({ limit: 1, cursor: page.next_cursor })) {
    pages.push(...page.items)
    if (page.next_cursor === null) break
  }
  assert.deepEqual(pages, all.items)
  const stranger = await kit.as('viewer', await kit.newTenant())
  await assert.rejects(stranger.listPendingAdoption({ params }), refused(404))

  for (const device of others) await apply(device)
  await beat(late, await tenantSequence(kit))
  assert.deepEqual((await lagging()).items, [])
  await kit.admin.publishPolicy({ body: { channel: 'canary', from: { channel: 'stable' }, rollout: { percent: 100 } } })
  assert.deepEqual(
    (await delivered()).map(([channel, version]) => [channel, version]),
    [
      ['canary', 2],
      ['stable', 1],
    ],
  )
  await kit.admin.publishPolicy({ body: { channel: 'stable', from: { channel: 'canary' } } })
  assert.deepEqual(
    (await delivered()).map(([channel, version]) => [channel, version]),
    [['stable', 3]],
  )
  assert.deepEqual((await lagging()).items, [], 'a replaced policy has no laggards')
})

test('a page compares a limited number of devices and continues with a cursor', async (t) => {
  const kit = await startKit(t)
  const device = await enroll(kit, 'the last of many')
  const others = Array.from({ length: 20_500 }, (_, i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`)
  const devices = [...others, decodeId('device', device.id)!].map((deviceId) => ({ deviceId, digest: 'sha256:x' }))
  const list = createPendingAdoption({
    db: kit.db,
    pager: createPager([createSecretKey(randomBytes(32))], usualSort),
    policy: { deliveredTo: async () => ({ seq: 1, devices }) },
  })
  const bundle = randomUUID()
  const first = await list(kit.tenant, bundle, {})
  assert.deepEqual(first.items, [])
  const second = await list(kit.tenant, bundle, { cursor: first.next_cursor ?? assert.fail('there is more') })
  assert.deepEqual([second.items.map(({ id }) => id), second.next_cursor], [[device.id], null])
})

test('open alerts of one severity do not hide those of another', async (t) => {
  const kit = await startKit(t)
  const counted = await kit.db.inTenant(kit.tenant, async (tx) => {
    for (const [i, severity] of (['critical', 'info', 'info', 'info'] as const).entries())
      await kit.app.notifications.notify(tx, kit.tenant, notice({ severity, title: `${i}` }))
    return countOpenNotifications(tx, kit.tenant, 2)
  })
  assert.deepEqual(counted, { info: 2, warning: 0, critical: 1 })
})
