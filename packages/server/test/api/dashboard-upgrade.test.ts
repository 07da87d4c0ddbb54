import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { uuidv7 } from 'uuidv7'
import { migrate } from '../../src/db/migrate.ts'
import { migrateBefore } from '../support/database/older-schema.ts'
import { createTestDatabase, withClient } from '../support/database/test-database.ts'
import { until } from '../support/deployment/wait-until.ts'

test('events that get their places before, during and after the upgrade are each counted once', async (t) => {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  const tenants = [uuidv7(), uuidv7()]
  await withClient(database.url, async (client) => {
    await migrateBefore(client, 'dashboard')
    await client.query('call ensure_partitions(now())')
    for (const tenant of tenants)
      await client.query(
        `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, record)
         select $1, gen_random_uuid(), now(), 'user.changed', 'success', '{}' from generate_series(1, 30)`,
        [tenant],
      )
  })
  const sequencers = await Promise.all(
    tenants.map(async (tenant) => {
      const client = new pg.Client({ connectionString: database.url })
      await client.connect()
      await client.query(`select set_config('holdfast.tenant', $1, false)`, [tenant])
      return client
    }),
  )
  const [first, second] = sequencers as [pg.Client, pg.Client]
  const waiting = (n: number) =>
    withClient(database.url, async (client) => {
      const { rows } = await client.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length >= n
    })
  await first.query('select sequence_audit(10)')
  await first.query('begin')
  await first.query('select sequence_audit(10)')
  const upgraded = migrate(database.url)
  await until(() => waiting(1), 'the upgrade waits for who gives places')
  let isThrough = false
  const meanwhile = second.query('select sequence_audit(10)').then(() => {
    isThrough = true
  })
  await until(
    async () => isThrough || (await waiting(2)),
    'this waits for the upgrade, or runs while the upgrade pauses',
  )
  await first.query('commit')
  await Promise.all([upgraded, meanwhile])
  for (const client of sequencers) await client.query('select sequence_audit(100)')
  const counted = await first.query(
    'select tenant_id, sum(events)::int as events from audit_counts group by 1 order by 1',
  )
  assert.deepEqual(
    counted.rows,
    tenants.map((tenant_id) => ({ tenant_id, events: 30 })),
  )
  for (const client of sequencers) await client.end()
})
