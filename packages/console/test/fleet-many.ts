import pg from 'pg'
import { encodeId } from '../../server/src/kernel/ids.ts'
import type { Kit } from '../../server/test/support/deployment/deployment.ts'

/**
 * Creates a tenant with many devices, named from `many-1` on; the first ones are revoked. The devices are inserted as
 * rows of the database, since enrolling so many takes too long.
 *
 * @returns id of the tenant
 */
export async function createTenantOfMany(kit: Kit, size: number, revoked: number): Promise<string> {
  const tenant = await kit.newTenant()
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  await owner.query(
    `insert into devices (tenant_id, device_id, name, platform, status, revoked_at, address_number,
       credential_expires_at, credential_renew_after, enrolled_method, enrolled_at)
     select $1, gen_random_uuid(), 'many-' || i, 'linux', case when i <= $3 then 'revoked' else 'active' end,
       case when i <= $3 then now() end, 1000 + i, now() + interval '30 days', now() + interval '20 days', 'token', now()
     from generate_series(1, $2::integer) as i`,
    [tenant, size, revoked],
  )
  await owner.query('analyze devices')
  await owner.end()
  return encodeId('tenant', tenant)
}

/**
 * Fills a group of a tenant with many new users, named from `member-000001` on, of whom every tenth has a device. They
 * are inserted as rows of the database, since one request for each takes too long.
 */
export async function fillGroup(kit: Kit, tenant: string, group: string, size: number): Promise<void> {
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  await owner.query(
    `with made as (
       insert into users (tenant_id, user_id, username, display_name)
       select $1::uuid, gen_random_uuid(), 'member-' || lpad(i::text, 6, '0'), 'Member ' || i
       from generate_series(1, $3::integer) as i
       returning tenant_id, user_id)
     insert into group_members (tenant_id, group_id, user_id) select tenant_id, $2::uuid, user_id from made`,
    [tenant, group, size],
  )
  await owner.query('update groups set member_count = $3 where tenant_id = $1 and group_id = $2', [tenant, group, size])
  await owner.query(
    `insert into devices (tenant_id, device_id, user_id, name, platform, status, address_number, credential_expires_at,
       credential_renew_after, enrolled_method, enrolled_at)
     select $1, gen_random_uuid(), user_id, 'laptop-' || username, 'linux', 'active', 1000 + row_number() over (),
       now() + interval '30 days', now() + interval '20 days', 'token', now()
     from users where tenant_id = $1 and username like 'member-%0'`,
    [tenant],
  )
  for (const table of ['users', 'group_members', 'devices', 'search_words'])
    await owner.query(`vacuum analyze ${table}`)
  await owner.end()
}
