import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { enroll } from '../support/actors/devices.ts'
import { makeGateway, meteringReport, newVpnSessionId } from '../support/actors/gateways.ts'
import { makeUser } from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { inbox } from '../support/domain/notifications.ts'
import { policyTo } from '../support/domain/policy.ts'

const [good, bad] = [policyTo('10.0.0.0/8'), policyTo('10.9.0.0/16')]
const gate = { min_devices: 8, on_failure: 'rollback' } as const

/** Two groups of eight devices, each device with a session through a gateway; sales is given the canary. */
async function startFleet(t: TestContext, replicas: number) {
  const kit = await startKit(t, { replicas })
  const { client } = await makeGateway(kit)
  const userOf = { sales: await makeUser(kit, 'sally'), support: await makeUser(kit, 'sue') }
  const { group } = await kit.admin.changeGroup({
    body: { operation: 'create', group: { name: 'sales', members: [userOf.sales] } },
  })
  const enrolled = (name: 'sales' | 'support') =>
    times(8, async (i) => ({
      ...(await enroll(kit, `${name} ${i}`, { user_id: userOf[name] })),
      session_id: newVpnSessionId(),
    }))
  const fleet = { sales: await enrolled('sales'), support: await enrolled('support') }
  await kit.admin.publishPolicy({ body: { channel: 'stable', policy: good } })
  /** Every device has traffic; for this number of each group, packets are denied. */
  const carry = (denied: { sales: number; support: number }, more: object = {}) =>
    client.metering({
      body: meteringReport(
        (['sales', 'support'] as const).flatMap((name) =>
          fleet[name].map(({ id, session_id }, i) => ({
            session_id,
            device_id: id,
            state: 'active',
            rx_bytes: 10,
            tx_bytes: 10,
            denied_packets: i < denied[name] ? 5 : 0,
          })),
        ),
        more,
      ),
    })
  const publishCanary = (more: object = {}) =>
    kit.admin.publishPolicy({
      body: { channel: 'canary', policy: bad, rollout: { group_ids: [group.group_id] }, gate, ...more },
    })
  /** Runs the job on every replica at once. */
  const judge = () => Promise.all(kit.replicas.map(({ app }) => runJob(app, 'judge_canaries')))
  const healthOf = (bundle_id: string) => kit.admin.getPolicyHealth({ params: { bundle_id } })
  return { kit, fleet, carry, publishCanary, judge, healthOf }
}
const current = async ({ admin }: Kit) =>
  (await admin.listPolicyBundles()).items.filter((b) => b.current).map((b) => [b.channel, b.version])
/** Moves the publication of a version and the denied packets back in time. */
const age = (kit: Kit, version: number, minutes: number) =>
  kit.db.inTenant(kit.tenant, async (tx) => {
    const earlier = sql`${minutes} * interval '1 minute'`
    await sql`update policy_bundles set published_at = published_at - ${earlier}
      where tenant_id = ${kit.tenant} and version = ${version}`.execute(tx)
    await sql`update vpn_sessions set last_denied_at = last_denied_at - ${earlier}
      where tenant_id = ${kit.tenant}`.execute(tx)
  })

test('a canary that breaks sessions rolls itself back once, with the reason', async (t: TestContext) => {
  const { kit, fleet, carry, publishCanary, judge, healthOf } = await startFleet(t, 2)
  // Denials from before the canary do not count for it, even if reported late.
  await carry({ sales: 8, support: 0 })
  const canary = await publishCanary()
  assert.deepEqual([canary.gate?.state, canary.gate?.observe_minutes], ['watching', 60])
  const [device] = fleet.sales
  const delivered = async () => {
    const { channel, version } = await device!.client.policyDigest()
    return [channel, version]
  }
  assert.deepEqual(await delivered(), ['canary', 2])
  const [interval_start, interval_end] = [61, 60].map((m) => new Date(Date.now() - m * 60_000).toISOString())
  await carry({ sales: 8, support: 0 }, { interval_start, interval_end })
  await judge()
  const before = await healthOf(canary.bundle_id)
  assert.deepEqual([before.running, before.gate?.state, before.canary?.denials], [true, 'watching', 0])

  await carry({ sales: 8, support: 1 })
  await device!.client.telemetry({
    body: { events: [{ event_id: 'e1', kind: 'failed', at: new Date(Date.now() + 1000).toISOString() }] },
  })
  const seen = await healthOf(canary.bundle_id)
  assert.deepEqual(seen.canary, { devices: 8, denials: 8, failed_sessions: 1, posture_failures: 0 })
  assert.deepEqual(seen.stable, { devices: 8, denials: 1, failed_sessions: 0, posture_failures: 0 })
  await Promise.all([judge(), judge()])

  await t.test(
    'the canary devices get the stable policy as a new version, and other devices see no change',
    async () => {
      assert.deepEqual(await current(kit), [['stable', 3]])
      assert.deepEqual(await delivered(), ['stable', 3])
      const [rolledBack] = (await kit.admin.listPolicyBundles()).items
      assert.deepEqual(
        [rolledBack!.version, rolledBack!.digest, rolledBack!.digest === rolledBack!.previous_digest],
        [3, (await kit.admin.listPolicyBundles()).items[2]!.digest, true],
      )
    },
  )
  const why = '8 of 8 devices on canary have packets denied, 1 of 8 on stable'
  await t.test('audit log, notification and canary health give the reason once each', async () => {
    const failed = (await eventsOf(kit, 'policy.gate_failed')) as unknown as Record<string, unknown>[]
    assert.deepEqual(
      failed.map((e) => [e.reason, e.action, e.version, JSON.stringify(e.actor).includes('judge_canaries')]),
      [[why, 'rollback', 2, true]],
    )
    assert.equal((await eventsOf(kit, 'policy.published')).length, 3)
    const notices = (await inbox(kit)).filter((n) => n.kind === 'policy.gate_failed')
    assert.deepEqual(
      notices.map((n) => [n.title, n.severity, n.detail.includes(why)]),
      [['Canary version 2 was rolled back', 'warning', true]],
    )
    const after = await healthOf(canary.bundle_id)
    assert.deepEqual([after.running, after.gate?.state, after.gate?.reason], [false, 'rolled_back', why])
    assert.deepEqual([after.canary, after.stable], [seen.canary, seen.stable])
  })
  await t.test('a second judgement after the rollback changes nothing', async () => {
    await judge()
    assert.equal((await kit.admin.listPolicyBundles()).items.length, 3)
  })
  await t.test('a failed policy is published to stable only with override_gate', async () => {
    const held = refused(422, /gate of canary version 2 has failed: 8 of 8.*override_gate/)
    const publish = (more: object) => kit.admin.publishPolicy({ body: { channel: 'stable', ...more } })
    for (const given of [{ policy: bad }, { from: { version: 2 } }, { from: { digest: canary.digest } }])
      await assert.rejects(publish(given), held)
    await assert.rejects(publish({ from: { channel: 'canary' } }), refused(422, /from.*no canary is active/))
    await kit.admin.publishPolicy({ body: { channel: 'canary', policy: bad } })
    await assert.rejects(publish({ from: { channel: 'canary' } }), held)
    await publish({ policy: bad, override_gate: true, note: 'it is meant to be' })
    await publish({ policy: good })
    await publish({ policy: bad })
    assert.deepEqual(await current(kit), [['stable', 7]])
  })
  await t.test('the figures of a finished canary stay those of its judgement', async () => {
    await age(kit, canary.version, 3 * 24 * 60)
    const { since, gate: judged } = await healthOf(canary.bundle_id)
    assert.equal(Date.parse(since), Date.parse(judged!.judged_at!) - 24 * 60 * 60_000)
  })
})

test('a gate passes after its time, and blocks promotion until then', async (t: TestContext) => {
  const { kit, fleet, carry, publishCanary, judge, healthOf } = await startFleet(t, 1)
  const promote = (more: object = {}) =>
    kit.admin.publishPolicy({ body: { channel: 'stable', from: { channel: 'canary' }, ...more } })

  await t.test('a gate with action hold fails permanently, notifies, and leaves the canary in place', async () => {
    const canary = await publishCanary({ gate: { min_devices: 8 } })
    await carry({ sales: 8, support: 0 })
    await Promise.all([judge(), judge()])
    await carry({ sales: 0, support: 8 })
    await judge()
    assert.equal((await healthOf(canary.bundle_id)).gate?.state, 'failed')
    assert.deepEqual(await current(kit), [
      ['canary', 2],
      ['stable', 1],
    ])
    assert.deepEqual(
      (await inbox(kit)).map((n) => [n.kind, n.severity]),
      [['policy.gate_failed', 'critical']],
    )
  })
  await t.test('promoting a failed canary needs override_gate and a reason, and both are recorded', async () => {
    await assert.rejects(promote(), refused(422, /override_gate.*has failed: 8 of 8 devices on canary/))
    await assert.rejects(promote({ supersede: true }), refused(422, /override_gate/))
    await assert.rejects(
      kit.admin.runWorkflow({ body: { workflow: 'promote_canary', dry_run: true } }),
      refused(422, /gate of canary version 2 has not passed/),
    )
    await assert.rejects(promote({ override_gate: true, note: ' ' }), refused(422, /note/))
    const { version } = await promote({ override_gate: true, note: 'the denied packets are meant to be' })
    assert.equal(version, 3)
    const [event] = await eventsOf(kit, 'policy.published')
    assert.match(JSON.stringify(event), /"gate_overridden":true/)
  })
  await t.test(
    'a gate passes with time, enough devices and no higher share, and promotion needs no override',
    async () => {
      const canary = await publishCanary({ policy: good })
      await carry({ sales: 1, support: 1 })
      await judge()
      await assert.rejects(promote(), refused(422, /has not passed: no problem is more frequent/))
      await age(kit, canary.version, 59)
      await judge()
      assert.equal((await healthOf(canary.bundle_id)).gate?.state, 'watching')
      await age(kit, canary.version, 2)
      await Promise.all([judge(), judge()])
      const { gate: passed } = await healthOf(canary.bundle_id)
      assert.deepEqual([passed?.state, (await eventsOf(kit, 'policy.gate_passed')).length], ['passed', 1])
      await promote()
      assert.deepEqual(await current(kit), [['stable', 5]])
    },
  )
  await t.test('a passed canary still rolls back while it is under way', async () => {
    const canary = await publishCanary({ policy: policyTo('10.7.0.0/16') })
    await carry({ sales: 0, support: 0 })
    await age(kit, canary.version, 61)
    await judge()
    await carry({ sales: 8, support: 0 })
    await judge()
    assert.equal((await healthOf(canary.bundle_id)).gate?.state, 'rolled_back')
    assert.deepEqual(await current(kit), [['stable', 7]])
  })
  await t.test('canary devices without a pool count as unable to connect', async () => {
    const canary = await publishCanary({ policy: { ...good, rules: [] } })
    await carry({ sales: 0, support: 0 })
    await judge()
    const { gate: after } = await healthOf(canary.bundle_id)
    assert.equal(after?.reason, '8 of 8 devices on canary could not connect, 0 of 8 on stable')
    assert.equal(after.state, 'rolled_back')
  })
  await t.test('a new check that canary devices fail counts against the canary', async () => {
    await times(8, async (i) => {
      await fleet.sales[i]!.client.reportPosture({ body: { facts: { 'disk.encrypted': i === 0 } } })
      await fleet.support[i]!.client.reportPosture({ body: { facts: { 'disk.encrypted': false } } })
    })
    const canary = await publishCanary({
      policy: { ...good, posture_checks: { disk: { expression: 'disk.encrypted', enforcement: 'enforce' } } },
      gate: { ...gate, max_rise_percent: { posture_failures: 50 } },
    })
    await carry({ sales: 0, support: 0 })
    await judge()
    const { canary: found, stable, measures, gate: after } = await healthOf(canary.bundle_id)
    assert.deepEqual([found?.posture_failures, stable?.posture_failures, measures.length], [7, 0, 3])
    assert.equal(after?.reason, '7 of 8 devices on canary fail a posture check, 0 of 8 on stable')
    assert.equal(after.state, 'rolled_back')
  })
  await t.test('a gate needs the canary channel and a stable version', async () => {
    await assert.rejects(
      kit.admin.publishPolicy({ body: { channel: 'stable', policy: good, gate } }),
      refused(422, /gate.*is allowed only with channel canary/),
    )
    const other = kit.clientFor(await kit.keyFor('tenant_admin', await kit.newTenant()))
    await assert.rejects(
      other.publishPolicy({ body: { channel: 'canary', policy: good, gate } }),
      refused(422, /gate.*needs a published version on stable/),
    )
  })
})
