import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { PostureVerdict, Tables } from '../../db/tables.ts'
import type { TenantId } from '../../kernel/actor.ts'

type Device = Selectable<Tables['devices']>
export type FleetRow = Pick<
  Device,
  | 'device_id'
  | 'user_id'
  | 'name'
  | 'platform'
  | 'client_version'
  | 'status'
  | 'channel'
  | 'tags'
  | 'group_ids'
  | 'jkt'
  | 'previous_jkt'
  | 'generation'
  | 'previous_generation_until'
  | 'wireguard_public_key'
  | 'address_number'
  | 'credential_expires_at'
> & { facts: Record<string, unknown> | null; reported_at: Date | null; verdict: PostureVerdict | null }

const columns = sql.raw(
  `d.device_id, d.user_id, d.name, d.platform, d.client_version, d.status, d.channel, d.tags, d.group_ids, d.jkt,
   d.previous_jkt, d.generation, d.previous_generation_until, d.wireguard_public_key, d.address_number,
   d.credential_expires_at,   p.facts, p.reported_at, p.verdict`,
)

/** The next `limit` devices after an id, in id order. */
export const devicesAfter = async (tx: Tx, tenant: TenantId, after: string, limit: number) =>
  (
    await sql<FleetRow>`select ${columns} from devices d left join device_postures p using (tenant_id, device_id)
      where d.tenant_id = ${tenant} and d.device_id > ${after} order by d.device_id limit ${limit}`.execute(tx)
  ).rows

export const devicesById = async (tx: Tx, tenant: TenantId, ids: string[]) =>
  (
    await sql<FleetRow>`select ${columns} from devices d left join device_postures p using (tenant_id, device_id)
      where d.tenant_id = ${tenant} and d.device_id = any(${ids}::uuid[])`.execute(tx)
  ).rows

export type UserRow = { user_id: string; suspended: boolean; group_ids: string[] }

/** Users with their groups; all of the tenant's, or the ones named. A deleted user counts as suspended. */
export const usersWithGroups = async (tx: Tx, tenant: TenantId, ids: string[] | null) =>
  (
    await sql<UserRow>`select u.user_id, u.status = 'suspended' or u.deleted_at is not null as suspended,
        coalesce(array_agg(m.group_id) filter (where m.group_id is not null), '{}') as group_ids
      from users u left join group_members m on m.tenant_id = u.tenant_id and m.user_id = u.user_id
      where u.tenant_id = ${tenant} and (${ids}::uuid[] is null or u.user_id = any(${ids}::uuid[]))
      group by u.user_id, u.status, u.deleted_at`.execute(tx)
  ).rows
