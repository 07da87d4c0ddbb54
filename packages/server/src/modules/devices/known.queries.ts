import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Name of a device, also of a revoked one. Undefined if there is none. */
export const deviceNameOf = async (tx: Tx, tenant: TenantId, deviceId: string): Promise<string | undefined> =>
  (
    await tx
      .selectFrom('devices')
      .select('name')
      .where('tenant_id', '=', tenant)
      .where('device_id', '=', deviceId)
      .executeTakeFirst()
  )?.name

export type Assigned = { deviceId: string; digest: string }
/** Returns those of these devices (in ID order) that have not confirmed the policy assigned to them. */
export const notApplying = async (tx: Tx, tenant: TenantId, assigned: readonly Assigned[], most: number) => {
  const { rows } = await sql<{
    device_id: string
    name: string
    applied_digest: string | null
    applied_at: Date | null
    last_seen_at: Date | null
  }>`
    select d.device_id, d.name, a.applied_digest, a.applied_at, a.last_seen_at
    from unnest(${assigned.map((d) => d.deviceId)}::uuid[], ${assigned.map((d) => d.digest)}::text[]) as w (device_id, digest)
    join devices d on d.tenant_id = ${tenant} and d.device_id = w.device_id
      and d.device_id between ${assigned[0]?.deviceId} and ${assigned.at(-1)?.deviceId}
    left join device_activity a on a.tenant_id = ${tenant} and a.device_id = w.device_id
    where a.applied_digest is distinct from w.digest order by d.device_id limit ${most}`.execute(tx)
  return rows
}

/** Counts the devices among these that apply the digest assigned to them, by digest. */
export const appliedAmong = async (tx: Tx, tenant: TenantId, assigned: readonly Assigned[]) => {
  const { rows } = await sql<{ applied_digest: string; devices: number }>`
    select a.applied_digest, count(*) as devices
    from unnest(${assigned.map((d) => d.deviceId)}::uuid[], ${assigned.map((d) => d.digest)}::text[]) as w (device_id, digest)
    join device_activity a on a.tenant_id = ${tenant} and a.device_id = w.device_id and a.applied_digest = w.digest
    group by 1`.execute(tx)
  return rows
}

/** Time of the first enrollment among the devices that are still stored. */
export const firstDeviceAt = async (tx: Tx, tenant: TenantId): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('devices')
    .select('enrolled_at')
    .where('tenant_id', '=', tenant)
    .orderBy('enrolled_at')
    .orderBy('device_id')
    .limit(1)
    .executeTakeFirst()
  return row?.enrolled_at
}
