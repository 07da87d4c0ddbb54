import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { populate } from '../support/actors/all-callers.ts'
import { createAuthenticator } from '../support/actors/people.ts'
import { startKit } from '../support/deployment/deployment.ts'

test('without its tenant condition no query sees, changes or adds a row of another tenant', async (t) => {
  const kit = await startKit(t)
  await populate(kit, kit.admin, ['device_id'])
  const other = await kit.newTenant()
  const theirs = await kit.as('tenant_admin', other)
  const { user_id } = (await populate(kit, theirs)).ids
  const { secret } = await theirs.enrollTotp({ body: { user_id } })
  await theirs.verifyTotp({ body: { user_id, code: createAuthenticator(secret).code() } })
  await theirs.grantRole({ body: { user_id, role: 'viewer' } })

  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  const { rows: tables } = await owner.query<{ name: string; walled: boolean }>(`
    select c.relname as name, c.relrowsecurity as walled from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and a.attname = 'tenant_id' and a.attnum > 0`)
  await owner.end()
  assert.ok(tables.length > 20)
  assert.deepEqual(
    tables.filter((x) => !x.walled),
    [],
    'tables of tenants without the wall',
  )

  /** The tenants whose rows a query without a tenant condition sees. */
  const ownersSeen = (tenant: typeof other, name: string) =>
    kit.db.inTenant(tenant, async (tx) => {
      const { rows } = await sql<{ tenant_id: string }>`select distinct tenant_id from ${sql.table(name)}`.execute(tx)
      return rows.map((r) => r.tenant_id)
    })
  const populated: string[] = []
  for (const { name } of tables) {
    const theirRows = await ownersSeen(other, name)
    if (theirRows.length > 0) populated.push(name)
    for (const [tenant, seen] of [
      [other, theirRows],
      [kit.tenant, await ownersSeen(kit.tenant, name)],
    ] as const)
      assert.deepEqual(
        seen.filter((id) => id !== tenant),
        [],
        `${name} shows rows of another tenant`,
      )
  }
  for (const expected of [
    'tenants',
    'users',
    'user_roles',
    'user_totp',
    'recovery_codes',
    'groups',
    'devices',
    'enrollment_tokens',
    'api_keys',
    'policy_bundles',
    'gateways',
    'signing_keys',
    'audit_log',
    'notifications',
  ])
    assert.ok(populated.includes(expected), `the proof needs rows in ${expected}`)

  // A write without a tenant condition changes no rows of other tenants, and a row can't be moved to another tenant.
  const touched = await kit.db.inTenant(other, (tx) =>
    tx.updateTable('devices').set({ name: 'mine' }).returning('tenant_id').execute(),
  )
  assert.deepEqual([...new Set(touched.map((r) => r.tenant_id))], [other])
  await assert.rejects(
    kit.db.inTenant(other, (tx) =>
      tx
        .insertInto('groups')
        .values({ tenant_id: kit.tenant, group_id: crypto.randomUUID(), name: 'smuggled' })
        .execute(),
    ),
    /row-level security/,
  )
  // Without a tenant, no rows are visible.
  const client = new pg.Client({ connectionString: kit.databaseUrl, options: '-c role=holdfast_app' })
  await client.connect()
  assert.equal((await client.query('select from users')).rowCount, 0)
  for (const table of ['audit_arrivals', 'audit_log', 'audit_heads', 'audit_beginnings'])
    for (const change of [`delete from ${table}`, `update ${table} set tenant_id = null`])
      await assert.rejects(client.query(change), /permission denied/, change)
  await client.end()
})
