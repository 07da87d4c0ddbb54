import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { uuidv7 } from 'uuidv7'
import { migrate } from '../../src/db/migrate.ts'
import { migrateBefore } from '../support/database/older-schema.ts'
import { withClient } from '../support/database/test-database.ts'
import { emptyDatabase, startOperator } from '../support/deployment/backup-drill.ts'
import { until } from '../support/deployment/wait-until.ts'

const tenant = uuidv7()

/** A deployment from before connection truth, fences and locks. */
async function olderDeployment(t: TestContext): Promise<string> {
  const url = await emptyDatabase(t)
  await withClient(url, async (client) => {
    await migrateBefore(client, 'connection_truth')
    await client.query('call ensure_partitions(now())')
    await client.query(`insert into tenants (tenant_id, name, canary_salt) values ($1, 'default', '\\x00')`, [tenant])
    await client.query('insert into tenant_epochs (tenant_id, seq) values ($1, 7)', [tenant])
    await client.query(
      `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, record)
       select $1, gen_random_uuid(), now(), 'user.changed', 'success', '{}' from generate_series(1, 30)`,
      [tenant],
    )
    await client.query(`select set_config('holdfast.tenant', $1, false)`, [tenant])
    await client.query('select sequence_audit(100)')
  })
  return url
}

const stateOf = (url: string) =>
  withClient(url, async (client) => {
    const { rows } = await client.query(
      `select e.seq > 4294967296 as leapt, e.fenced_at is not null as fenced,
         (select count(*)::int from audit_arrivals where kind = 'deployment.fenced') as said,
         (select sum(events)::int from audit_counts where kind = 'user.changed') as counted,
         (select count(*)::int from pg_stats where tablename = 'audit_log' and inherited) > 0 as analyzed
       from tenant_epochs e`,
    )
    return rows
  })
const whole = { leapt: true, fenced: true, said: 1, counted: 30 }

const schemaOf = (url: string) =>
  withClient(url, async (client) => {
    const { rows } = await client.query('select max(version) as newest from schema_migrations')
    return rows[0].newest as number
  })

/** Runs SQL when the migration creates the table of locks, midway from the older version. */
const runDuringMigration = (url: string, what: string) =>
  withClient(url, (client) =>
    client.query(
      `create function in_the_middle() returns event_trigger language plpgsql as $$
       begin
         if to_regclass('public.locks') is not null then ${what} end if;
       end $$;
       create event trigger in_the_middle on ddl_command_end when tag in ('CREATE TABLE')
         execute function in_the_middle();`,
    ),
  )
const removeTrigger = (url: string) =>
  withClient(url, (client) => client.query('drop event trigger in_the_middle; drop function in_the_middle'))

test('a backup of an older version is migrated and fenced, or neither', async (t) => {
  const operator = await startOperator(t)
  const older = await olderDeployment(t)
  const made = await operator.backUp(older, 'older.age')
  assert.equal(made.code, 0, made.err)

  const url = await emptyDatabase(t)
  await runDuringMigration(url, `raise exception 'it dies here';`)
  const died = await operator.restore(url, 'older.age')
  assert.equal(died.code, 2)
  assert.match(died.err, /was rolled back: it dies here/)
  assert.equal(await schemaOf(url), 50)
  const left = await withClient(url, (client) => client.query('select from tenants'))
  assert.equal(left.rowCount, 0, 'nothing that a server could take for a deployment')
  await removeTrigger(url)

  const server = await withClient(url, async (client) => {
    await client.query('select pg_advisory_lock(1)')
    await runDuringMigration(url, 'perform pg_advisory_xact_lock_shared(1);')
    const restoring = operator.restore(url, 'older.age')
    await until(async () => {
      const { rows } = await client.query(`select from pg_locks l join pg_database d on d.oid = l.database
         where d.datname = current_database() and l.locktype = 'advisory' and not l.granted`)
      return rows.length > 0
    }, 'the restore is in the middle')
    const starting = migrate(url)
    await client.query('select pg_advisory_unlock(1)')
    const { code, err } = await restoring
    assert.equal(code, 0, err)
    assert.match(err, /tables, for the query planner/)
    return starting
  })
  assert.deepEqual(server.applied, [], 'a server that starts meanwhile finds all of it')
  await removeTrigger(url)
  assert.deepEqual(await stateOf(url), [{ ...whole, analyzed: true }])
})

test('a database of an older version is migrated and fenced, or stays unchanged', async (t) => {
  const operator = await startOperator(t)
  const url = await olderDeployment(t)
  const fence = (database: string) => operator.run({ DATABASE_URL: database }, 'restore', '--fence', '--yes')
  await runDuringMigration(url, `raise exception 'it dies here';`)
  assert.match((await fence(url)).err, /was rolled back: it dies here/)
  assert.equal(await schemaOf(url), 50)
  await removeTrigger(url)
  const fenced = await fence(url)
  assert.equal(fenced.code, 0, fenced.err)
  assert.deepEqual(await stateOf(url), [{ ...whole, analyzed: false }])

  await withClient(url, (c) => c.query(`insert into schema_migrations values (9999, 'later', repeat('0', 64))`))
  const newer = await fence(url)
  assert.deepEqual([newer.code, /by a newer Holdfast .*install that version/.test(newer.err)], [2, true], newer.err)
  const nothing = await fence(await emptyDatabase(t))
  assert.match(nothing.err, /The database has no deployment/)
})
