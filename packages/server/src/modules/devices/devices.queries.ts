import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { DeviceStatus } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

/**
 * Inserts the rows by which devices are found by tag and by own group. Sorted, as in every writer of several rows, to
 * avoid deadlocks.
 */
export async function labelDevices(
  tx: Tx,
  tenant: TenantId,
  devices: readonly { device_id: string; tags: readonly string[]; group_ids: readonly string[] }[],
): Promise<void> {
  const tags = devices.flatMap((d) => d.tags.map((tag) => ({ tenant_id: tenant, tag, device_id: d.device_id })))
  const groups = devices.flatMap((d) =>
    d.group_ids.map((group_id) => ({ tenant_id: tenant, group_id, device_id: d.device_id })),
  )
  const inOrder = <T extends object>(rows: T[], keyOf: (row: T) => string) =>
    rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  if (tags.length > 0)
    await tx
      .insertInto('device_tags')
      .values(inOrder(tags, (r) => `${r.tag} ${r.device_id}`))
      .onConflict((c) => c.columns(['tenant_id', 'tag', 'device_id']).doNothing())
      .execute()
  if (groups.length > 0)
    await tx
      .insertInto('device_groups')
      .values(inOrder(groups, (r) => `${r.group_id} ${r.device_id}`))
      .onConflict((c) => c.columns(['tenant_id', 'group_id', 'device_id']).doNothing())
      .execute()
}

/** State transitions of each operation. Revocation is final: no operation leaves `revoked`. */
export const deviceTransitions = {
  approve: { from: ['pending'], to: 'active' },
  suspend: { from: ['pending', 'active'], to: 'suspended' },
  reactivate: { from: ['suspended'], to: 'active' },
  revoke: { from: ['pending', 'active', 'suspended'], to: 'revoked' },
} as const satisfies Record<string, { from: readonly DeviceStatus[]; to: DeviceStatus }>
export type DeviceTransition = keyof typeof deviceTransitions

/**
 * The status predicate acts as the lock: of two concurrent operations exactly one gets a device's row back. Rows are
 * locked in ID order, as in every writer of several rows, to avoid deadlocks.
 */
export const moveDevices = async (
  tx: Tx,
  tenant: TenantId,
  ids: readonly string[],
  move: DeviceTransition,
  at: Date,
) => {
  const from = [...deviceTransitions[move].from]
  const movedRows = await tx
    .with('locked', (db) =>
      db
        .selectFrom('devices')
        .select('device_id')
        .where('tenant_id', '=', tenant)
        .where(sql<boolean>`device_id = any(${ids}::uuid[])`)
        .where('status', 'in', from)
        .orderBy('device_id')
        .forNoKeyUpdate(),
    )
    .updateTable('devices')
    .from('locked')
    .set({ status: deviceTransitions[move].to, updated_at: at, ...(move === 'revoke' && { revoked_at: at }) })
    .where('devices.tenant_id', '=', tenant)
    .whereRef('devices.device_id', '=', 'locked.device_id')
    .where('devices.status', 'in', from)
    .returning(['devices.device_id', 'devices.name', 'devices.user_id', 'devices.address_number'])
    .execute()
  if (move === 'revoke') await freeAddresses(tx, tenant, movedRows)
  return movedRows
}

/** Sorted, as in every writer of several rows, to avoid deadlocks. */
const freeAddresses = async (tx: Tx, tenant: TenantId, revoked: readonly { address_number: number }[]) => {
  if (revoked.length === 0) return
  await sql`
    insert into free_addresses (tenant_id, address_number)
    select ${tenant}::uuid, n from unnest(${revoked.map((d) => d.address_number)}::bigint[]) as n order by n`.execute(
    tx,
  )
}

/** Revokes all devices of these users in one statement. */
export const revokeOfUsers = async (tx: Tx, tenant: TenantId, userIds: readonly string[], at: Date) => {
  const { rows } = await sql<{ device_id: string; name: string; address_number: number }>`
    with locked as (
      select device_id from devices
      where tenant_id = ${tenant} and user_id = any(${userIds}::uuid[]) and status <> 'revoked'
      order by device_id for no key update)
    update devices d set status = 'revoked', revoked_at = ${at}, updated_at = ${at} from locked
    where d.tenant_id = ${tenant} and d.device_id = locked.device_id and d.status <> 'revoked'
    returning d.device_id, d.name, d.address_number`.execute(tx)
  await freeAddresses(tx, tenant, rows)
  return rows
}

export const statusesOf = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  tx
    .selectFrom('devices')
    .select(['device_id', 'status'])
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`device_id = any(${ids}::uuid[])`)
    .execute()

export type DevicePatch = {
  name?: string
  tags?: string[]
  channel?: 'auto' | 'canary' | 'stable'
  user_id?: string | null
}

/** Locks the device, so that the audit event shows the values before and after this change. */
export const lockDevice = (tx: Tx, tenant: TenantId, deviceId: string) =>
  tx
    .selectFrom('devices')
    .select(['device_id', 'name', 'tags', 'channel', 'user_id', 'status', 'updated_at'])
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .forUpdate()
    .executeTakeFirst()

export const updateDevice = async (tx: Tx, tenant: TenantId, deviceId: string, patch: DevicePatch, at: Date) => {
  await tx
    .updateTable('devices')
    .set({ ...patch, updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .execute()
  if (!patch.tags) return
  await tx
    .deleteFrom('device_tags')
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .where(sql<boolean>`tag <> all(${patch.tags}::text[])`)
    .execute()
  await labelDevices(tx, tenant, [{ device_id: deviceId, tags: patch.tags, group_ids: [] }])
}

/** Ends the previous generation, because the new one has been used. */
export const endPreviousGeneration = async (tx: Tx, tenant: TenantId, deviceId: string, generation: number) =>
  (await tx
    .updateTable('devices')
    .set({ previous_generation_until: null, previous_jkt: null })
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .where('generation', '=', generation)
    .where('previous_generation_until', 'is not', null)
    .returning('device_id')
    .executeTakeFirst()) !== undefined

/**
 * Updates last-seen times in a batch; a late update never sets one back. Sorted, as in every writer of several of these
 * rows.
 */
export const touchDevices = (tx: Tx, marks: { tenant_id: string; device_id: string; at: Date }[]) =>
  sql`insert into device_activity (tenant_id, device_id, last_seen_at)
      select m.tenant_id, m.device_id, m.at
        from jsonb_to_recordset(${JSON.stringify(marks)}::jsonb) as m (tenant_id uuid, device_id uuid, at timestamptz)
       order by 1, 2
      on conflict (tenant_id, device_id) do update
        set last_seen_at = greatest(device_activity.last_seen_at, excluded.last_seen_at)`.execute(tx)

export type SeenDevice = {
  tenantId: TenantId
  deviceId: string
  at: Date
  applied: { digest: string; at: Date } | null
}
/** Expects one entry per device. The newest confirmation of an applied policy wins; times are never set back. */
export const markDevices = (tx: Tx, seen: readonly SeenDevice[]) => {
  const column = <T>(of: (s: SeenDevice) => T) => seen.map(of)
  return sql`
    insert into device_activity as a (tenant_id, device_id, last_seen_at, applied_digest, applied_at)
    select * from unnest(${column((s) => s.tenantId)}::uuid[], ${column((s) => s.deviceId)}::uuid[],
      ${column((s) => s.at)}::timestamptz[], ${column((s) => s.applied?.digest ?? null)}::text[],
      ${column((s) => s.applied?.at ?? null)}::timestamptz[])
    order by 1, 2
    on conflict (tenant_id, device_id) do update set
      last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at),
      applied_digest = case when excluded.applied_at >= coalesce(a.applied_at, '-infinity')
        then excluded.applied_digest else a.applied_digest end,
      applied_at = greatest(a.applied_at, excluded.applied_at)`.execute(tx)
}

/** Bypasses tenant isolation. Tenants with ephemeral devices that a sweep may have to revoke. */
export const tenantsWithEphemerals = async (tx: Tx): Promise<TenantId[]> => {
  const rows = await tx
    .selectFrom('devices')
    .select('tenant_id')
    .distinct()
    .where('ephemeral_seconds', 'is not', null)
    .where('status', '<>', 'revoked')
    .execute()
  return rows.map((r) => r.tenant_id)
}

/**
 * Ephemeral devices that were silent for longer than their token allows. They count only if the server has been
 * listening (`listenedMs`) for that time, or for the time that any device needs to reconnect (`comeBackMs`).
 */
export const silentEphemerals = async (
  tx: Tx,
  tenant: TenantId,
  { at, listenedMs, comeBackMs }: { at: Date; listenedMs: number; comeBackMs: number },
  limit: number,
): Promise<string[]> => {
  const rows = await tx
    .selectFrom('devices')
    .leftJoin('device_activity as a', (j) =>
      j.on('a.tenant_id', '=', tenant).onRef('a.device_id', '=', 'devices.device_id'),
    )
    .select('devices.device_id')
    .where('devices.tenant_id', '=', tenant)
    .where('devices.ephemeral_seconds', 'is not', null)
    .where('devices.status', '<>', 'revoked')
    .where(
      sql<boolean>`coalesce(a.last_seen_at, devices.enrolled_at) < ${at}::timestamptz - devices.ephemeral_seconds * interval '1 second'`,
    )
    .where(sql<boolean>`least(devices.ephemeral_seconds * 1000::bigint, ${comeBackMs}) <= ${listenedMs}::float8`)
    .limit(limit)
    .execute()
  return rows.map((r) => r.device_id)
}

export const countRevoked = async (tx: Tx, tenant: TenantId, most: number): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from (
      select from devices where tenant_id = ${tenant} and status = 'revoked' limit ${most}) as counted`.execute(tx)
  return rows[0]?.n ?? 0
}
