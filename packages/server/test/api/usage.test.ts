import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeRetention } from '@holdfast/sdk'
import fc from 'fast-check'
import { configureKept } from '../../src/db/kept.ts'
import { encodeId } from '../../src/kernel/ids.ts'
import { withGateway } from '../support/actors/gateways.ts'
import { refusedWith } from '../support/actors/sign-in.ts'
import { enrollRaw } from '../support/clients/api-calls.ts'
import { ask, connectOwner, count, forget, settle } from '../support/database/retention.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'

const hourMs = 3_600_000
const usageOf = (kit: Kit, query: { from?: string; to?: string; step?: 'hour' | 'day' } = {}) =>
  kit.admin.getUsage({ params: { tenant_id: encodeId('tenant', kit.tenant) }, query })

test('metering reports that are replayed, reordered and late: usage is equal to the byte', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const devices = await times(2, (i) => enrollRaw(kit, token, `d${i}`))
  const gateways = [await withGateway(kit, 'g1'), await withGateway(kit, 'g2')]
  const sessions = gateways.map(() => devices.map(() => encodeId('vpn_session', crypto.randomUUID())))
  // Reports of the last two days, of a minute each, with distinguishable bytes.
  const start = Math.floor(Date.now() / hourMs) * hourMs - 48 * hourMs
  const reports = Array.from({ length: 36 }, (_, i) => {
    const g = i % 2
    const from = start + Math.floor(i / 2) * 137 * 60_000
    return {
      g,
      body: {
        report_id: `r${i}`,
        boot_id: 'b',
        sequence: i,
        interval_start: new Date(from).toISOString(),
        interval_end: new Date(from + 60_000).toISOString(),
        samples: devices.map((d, n) => ({
          session_id: sessions[g]![n]!,
          device_id: d.id,
          state: 'active' as const,
          rx_bytes: 2 ** 20 + i * 7 + n,
          tx_bytes: i * 1000 + n,
        })),
      },
    }
  })
  const order = fc.sample(fc.shuffledSubarray(reports, { minLength: reports.length }), { numRuns: 1, seed: 7 })[0]!
  const clients = kit.replicas.map((replica) => gateways.map((g) => kit.clientFor(g.secret, replica)))
  // Each is sent twice, at two replicas at once, and some once more at the end.
  for (let i = 0; i < order.length; i += 6)
    await Promise.all(order.slice(i, i + 6).flatMap(({ g, body }) => clients.map((at) => at[g]!.metering({ body }))))
  for (const { g, body } of order.slice(0, 4))
    assert.equal((await clients[0]![g]!.metering({ body })).duplicate, body.samples.length)

  const expected = new Map<number, { rx: number; tx: number }>()
  for (const { body } of reports) {
    const end = Date.parse(body.interval_end) - 1
    const hour = end - (end % hourMs)
    const known = expected.get(hour) ?? { rx: 0, tx: 0 }
    for (const s of body.samples) {
      known.rx += s.rx_bytes
      known.tx += s.tx_bytes
    }
    expected.set(hour, known)
  }
  const sum = (of: (e: { rx: number; tx: number }) => number) => [...expected.values()].reduce((n, e) => n + of(e), 0)
  const from = new Date(start).toISOString()
  for (const step of ['hour', 'day'] as const) {
    const { totals, series } = await usageOf(kit, { from, step })
    assert.deepEqual([totals.rx_bytes, totals.tx_bytes], [sum((e) => e.rx), sum((e) => e.tx)])
    assert.equal(totals.sessions_started, 4)
    if (step === 'hour')
      for (const { at, rx_bytes, tx_bytes } of series) {
        const { rx, tx } = expected.get(Date.parse(at)) ?? { rx: 0, tx: 0 }
        assert.deepEqual([at, rx_bytes, tx_bytes], [at, rx, tx])
      }
  }
})

test('usage of tenants of one deployment', async (t) => {
  const kit = await startKit(t)

  await t.test('a span is bounded, and what is wrong with it is said', async () => {
    const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
    await assert.rejects(usageOf(kit, { from: at(1), to: at(0) }), refusedWith(422, /must lie before to/))
    await assert.rejects(usageOf(kit, { from: at(-40), step: 'hour' }), refusedWith(422, /31 days before to/))
    await assert.rejects(usageOf(kit, { from: at(-500) }), refusedWith(422, /400 days before to/))
    await assert.rejects(usageOf(kit, { from: 'yesterday' }), refusedWith(400))
    assert.equal((await usageOf(kit)).series.length, 30)
    assert.equal((await usageOf(kit, { from: at(-399) })).series.length, 400)
  })

  await t.test('what is refused is not counted', async () => {
    const { client } = await withGateway(kit)
    const at = new Date().toISOString()
    const answer = await client.metering({
      body: {
        report_id: 'r',
        boot_id: 'b',
        sequence: 1,
        interval_start: at,
        interval_end: at,
        samples: [
          {
            session_id: encodeId('vpn_session', crypto.randomUUID()),
            device_id: encodeId('device', crypto.randomUUID()),
            state: 'active',
            rx_bytes: 5,
            tx_bytes: 5,
          },
        ],
      },
    })
    assert.equal(answer.rejected.length, 1)
    assert.equal((await usageOf(kit)).totals.rx_bytes, 0)
  })

  await t.test('how many there were: the most within each step, and what it was where nothing moved', async () => {
    const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
    const devices = await times(4, (i) => enrollRaw(kit, token, `d${i}`))
    await kit.admin.changeDevices({ body: { operation: 'revoke', device_ids: devices.slice(1).map((d) => d.id) } })
    await runJob(kit.app, 'count_entitlements')
    const now = await usageOf(kit, { step: 'hour' })
    const last = now.series.at(-1)!
    assert.equal(last.peak.devices, 4)
    assert.equal(now.series.at(-2)?.peak.devices, 0)
    const next = await usageOf(kit, { step: 'hour', to: new Date(Date.now() + 2 * hourMs).toISOString() })
    assert.deepEqual(
      next.series.slice(-2).map((s) => s.peak.devices),
      [1, 1],
      'it stays',
    )
  })

  await t.test('at the rate of the last days a limit is reached at a stated time', async () => {
    const tenant = await kit.newTenant()
    const there = { ...kit, tenant }
    const tenant_id = encodeId('tenant', there.tenant)
    const today = Math.floor(Date.now() / 86_400_000) * 86_400_000
    await kit.db.inTenant(there.tenant, async (tx) => {
      for (let days = 10; days >= 1; days--)
        await tx
          .insertInto('usage_levels')
          .values({
            tenant_id: there.tenant,
            metric: 'devices',
            hour: new Date(today - days * 86_400_000),
            peak: 100 - days * 10,
            used: 100 - days * 10,
          })
          .execute()
      await tx
        .updateTable('entitlement_counters')
        .set({ used: 90 })
        .where('tenant_id', '=', there.tenant)
        .where('metric', '=', 'devices')
        .execute()
    })
    await kit.admin.changeTenant({
      body: { operation: 'update', tenant_id, tenant: { limits: { devices: 140, users: 500 } } },
    })
    const { forecast } = await usageOf(there, {
      from: new Date(today - 10 * 86_400_000).toISOString(),
      to: new Date(today).toISOString(),
    })
    const devices = forecast.find((f) => f.metric === 'devices')!
    assert.deepEqual([devices.used, devices.limit, devices.per_day], [90, 140, 10])
    const days = (Date.parse(devices.reaches_limit_at!) - Date.now()) / 86_400_000
    assert.ok(days > 4.9 && days < 5.1, String(days))
    assert.equal(forecast.find((f) => f.metric === 'users')?.reaches_limit_at, null)
  })
})

test('a tenant erases nothing of what it is limited and billed by: that goes by the deployment, month by month', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  const hours = [9, 399, 401].map((days) => `now() - interval '${days} days'`)
  for (const hour of hours)
    await owner.query(`
      insert into usage_traffic select '${kit.tenant}', date_trunc('hour', ${hour}), gen_random_uuid(), 1, 1, 1;
      insert into usage_levels select '${kit.tenant}', 'users', date_trunc('hour', ${hour}), 1, 1;
      insert into audit_counts select '${kit.tenant}', date_trunc('hour', ${hour}), 'device.enrolled', 'success', 1`)
  const left = async () => {
    await forget(kit)
    const old: number[] = []
    for (const table of ['usage_traffic', 'usage_levels', 'audit_counts'])
      old.push(await count(owner, table, `hour < now() - interval '8 days'`))
    return old
  }
  await changeRetention(kit.admin, { metering: 7 })
  await settle(owner)
  assert.deepEqual(await left(), [2, 2, 0])

  await configureKept(kit.databaseUrl, { ...standard, metering: 7 })
  const beginsAt = (moment: string) => ask<Date>(owner, 'select usage_begins($1) as value', [moment])
  assert.equal((await beginsAt('2026-03-20T12:00:00Z')).toISOString(), '2026-03-01T00:00:00.000Z', 'the running month')
  assert.equal((await beginsAt('2026-03-03T12:00:00Z')).toISOString(), '2026-02-24T12:00:00.000Z')
})
const standard = { audit: null, vpn_sessions: 90, telemetry: 30, metering: 400, revoked_devices: 90 }
