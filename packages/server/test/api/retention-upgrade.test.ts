import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uuidv7 } from 'uuidv7'
import { configureKept } from '../../src/db/kept.ts'
import { migrate } from '../../src/db/migrate.ts'
import { migrateBefore } from '../support/database/older-schema.ts'
import { createTestDatabase, withClient } from '../support/database/test-database.ts'

test('after an upgrade nothing goes by a period that nobody has confirmed yet, whichever version asks', async (t) => {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  const tenant = uuidv7()
  await withClient(database.url, async (client) => {
    await migrateBefore(client, 'retention')
    await client.query(`insert into tenants (tenant_id, name, canary_salt) values ($1, 'default', '\\x00')`, [tenant])
    await client.query(`call ensure_partitions(now() - interval '100 days')`)
    await client.query(
      `insert into telemetry_events (tenant_id, at, device_id, event_id, kind)
       select $1, now() - interval '100 days', gen_random_uuid(), 'event-' || i, 'connected' from generate_series(1, 5) as i`,
      [tenant],
    )
    await client.query(
      `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, record)
       values ($1, gen_random_uuid(), now(), 'user.changed', 'success', '{}')`,
      [tenant],
    )
    await client.query(`select set_config('holdfast.tenant', $1, false)`, [tenant])
    await client.query('select sequence_audit(10)')
  })
  await migrate(database.url)
  await withClient(database.url, async (client) => {
    const left = async (drop: string) => {
      await client.query('set role holdfast_app')
      await client.query(`select check_clock(now())`)
      await client.query(`select set_config('holdfast.tenant', $1, false)`, [tenant])
      // A month a call.
      while ((await client.query(drop)).rows[0].n > 0);
      await client.query('reset role')
      return (await client.query('select count(*)::int as n from telemetry_events')).rows[0].n
    }
    const byBefore = `select drop_partitions('telemetry_events', 30) as n`
    const byNow = `select drop_partitions('telemetry_events') as n`
    assert.deepEqual([await left(byBefore), await left(byNow)], [5, 5], 'on the day of the upgrade')
    const days = { audit: null, vpn_sessions: 90, metering: 400, revoked_devices: 90 }
    await configureKept(database.url, { ...days, telemetry: 365 })
    const aDayLater = `update retention_periods set settles_at = settles_at - interval '1 day'`
    await client.query(aDayLater)
    assert.deepEqual([await left(byBefore), await left(byNow)], [5, 5], 'as long as this deployment keeps it')
    await configureKept(database.url, { ...days, telemetry: 30 })
    await client.query(aDayLater)
    assert.equal(await left(byBefore), 0)
    assert.equal((await client.query('select seq from audit_log')).rowCount, 1)
    await assert.rejects(client.query('delete from audit_log'), /append-only/)
  })
})
