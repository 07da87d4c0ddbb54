import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { sharedTables } from '../statements/guard.ts'
import { startKit } from '../support/deployment/deployment.ts'

test('every key of a tenant table begins with the tenant, and no row policy contains a subquery', async (t) => {
  const kit = await startKit(t)
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  const ask = async (text: string) => (await client.query<{ found: string }>(text)).rows.map((r) => r.found)
  const ofTenants = `n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition
    and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')`

  assert.deepEqual(
    await ask(`select c.relname as found from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition and not (${ofTenants}) order by 1`),
    [...sharedTables].sort(),
    'tables without a tenant',
  )
  assert.deepEqual(
    await ask(`select i.relname as found from pg_index x join pg_class c on c.oid = x.indrelid
      join pg_class i on i.oid = x.indexrelid join pg_namespace n on n.oid = c.relnamespace
      where ${ofTenants} and x.indisunique and not exists (select from pg_attribute a
        where a.attrelid = c.oid and a.attname = 'tenant_id' and a.attnum = any(x.indkey::int2[])) order by 1`),
    // Names of tenants are unique among all.
    ['tenant_name_is_unique'],
    'unique keys without the tenant',
  )
  assert.deepEqual(
    await ask(`select x.conname as found from pg_constraint x join pg_class c on c.oid = x.conrelid
      join pg_namespace n on n.oid = c.relnamespace where ${ofTenants} and x.contype = 'f'
      and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id'
        and a.attnum = any(x.conkey)) order by 1`),
    [],
    'foreign keys without the tenant',
  )
  assert.deepEqual(
    await ask(`select tablename || '.' || policyname as found from pg_policies
      where schemaname = 'public' and (qual ~* '\\mselect\\M' or with_check ~* '\\mselect\\M') order by 1`),
    [],
    'policies with a sub-select',
  )
  assert.deepEqual(
    await ask(`select p.proname as found from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosecdef
      and not exists (select from unnest(p.proconfig) as c where c = 'search_path=pg_catalog, public, pg_temp') order by 1`),
    [],
    'routines with the rights of the owner that look into what a caller made first',
  )
  await client.end()
})

test('the retention of every table is documented', async (t) => {
  const kit = await startKit(t)
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(`select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`)
  await client.end()
  const text = readFileSync(join(import.meta.dirname, '../../../../docs/reference/kept-data.md'), 'utf8')
  assert.deepEqual(
    rows.map(({ name }) => name).filter((name) => name !== 'schema_migrations' && !text.includes(`\`${name}\``)),
    [],
  )
})

test('migrations are numbered without gaps and without repetition', () => {
  const numbers = globSync('*.sql', { cwd: join(import.meta.dirname, '../../migrations') })
    .map((name) => Number(name.slice(0, 4)))
    .sort((a, b) => a - b)
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => i + 1),
  )
})
