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
