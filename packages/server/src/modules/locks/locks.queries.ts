import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { isNotAllHeld, purgeTime } from '../../db/kept.ts'
import { deleting } from '../../db/retention.ts'
import type { StoredParty } from '../../db/tables/columns.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type LockRow = Selectable<Tables['locks']>
export type LockTarget = { type: LockRow['target_type']; id: string }

export const selectLocks = (
  tx: Tx,
  tenant: TenantId,
  status: 'active' | 'released' | 'all',
  type?: LockTarget['type'],
) => {
  const all = tx.selectFrom('locks').selectAll().where('tenant_id', '=', tenant)
  const q = type === undefined ? all : all.where('target_type', '=', type)
  return status === 'all' ? q : q.where('released_at', status === 'active' ? 'is' : 'is not', null)
}

export const findLock = (tx: Tx, tenant: TenantId, id: string): Promise<LockRow | undefined> =>
  selectLocks(tx, tenant, 'all').where('lock_id', '=', id).executeTakeFirst()

export const findActive = (tx: Tx, tenant: TenantId, { type, id }: LockTarget): Promise<LockRow | undefined> =>
  selectLocks(tx, tenant, 'active', type).where('target_id', '=', id).executeTakeFirst()

type NewLock = {
  id: string
  target: LockTarget
  name: string | null
  reason: string
  by: StoredParty
  expiresInSeconds: number | undefined
}
/** Inserts a lock. Undefined if the target is locked already: of concurrent callers one makes the lock. */
export const insertLock = (tx: Tx, tenant: TenantId, lock: NewLock, at: Date): Promise<LockRow | undefined> =>
  tx
    .insertInto('locks')
    .values({
      tenant_id: tenant,
      lock_id: lock.id,
      target_type: lock.target.type,
      target_id: lock.target.id,
      target_name: lock.name,
      reason: lock.reason,
      created_by: JSON.stringify(lock.by),
      created_at: at,
      expires_at:
        lock.expiresInSeconds === undefined
          ? null
          : sql<Date>`clock_timestamp() + ${lock.expiresInSeconds} * interval '1 second'`,
    })
    .onConflict((c) =>
      c.columns(['tenant_id', 'target_type', 'target_id']).where('released_at', 'is', null).doNothing(),
    )
    .returningAll()
    .executeTakeFirst()

/**
 * Releases a lock, and returns the new row to the one caller that released it. `isDue`: only if the lock has expired by
 * the database's clock.
 */
export const releaseLock = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  { by, at, isDue }: { by: StoredParty; at: Date; isDue: boolean },
): Promise<LockRow | undefined> => {
  const q = tx
    .updateTable('locks')
    .set({ released_by: JSON.stringify(by), released_at: at })
    .where('tenant_id', '=', tenant)
    .where('lock_id', '=', id)
    .where('released_at', 'is', null)
  const dbNow = sql<Date>`clock_timestamp()`
  return (isDue ? q.where('expires_at', '<=', dbNow) : q).returningAll().executeTakeFirst()
}

/** `ends` is exact, unlike a `Date`, so that the next read continues after this lock. */
export type DueLock = { tenant_id: TenantId; lock_id: string; is_over: boolean; ends: string }
const ends = sql`coalesce(expires_at, 'infinity')`
/**
 * Across tenants: locks that have expired, the oldest first, and locks whose target is deleted or revoked, both of
 * which are final; the first `limit` after one of them. Deleting a tenant removes its locks.
 */
export const dueLocks = async (tx: Tx, after: DueLock | undefined, limit: number) => {
  const { rows } = await sql<DueLock>`
    select tenant_id, lock_id, coalesce(expires_at <= now(), false) as is_over, ${ends}::text as ends from locks l
    where released_at is null
      and ${after ? sql`(${ends}, lock_id) > (${after.ends}::timestamptz, ${after.lock_id}::uuid)` : sql`true`}
      and exists (select from tenants t where t.tenant_id = l.tenant_id and t.deleted_at is null)
      and (expires_at <= now() or not case target_type
        when 'device' then exists (select from devices d
          where d.tenant_id = l.tenant_id and d.device_id = l.target_id and d.status <> 'revoked')
        when 'gateway' then exists (select from gateways g
          where g.tenant_id = l.tenant_id and g.gateway_id = l.target_id and g.deleted_at is null)
        when 'group' then exists (select from groups g where g.tenant_id = l.tenant_id and g.group_id = l.target_id)
        when 'user' then exists (select from users u
          where u.tenant_id = l.tenant_id and u.user_id = l.target_id and u.deleted_at is null)
        else true end)
    order by ${ends}, lock_id limit ${limit}`.execute(tx)
  return rows
}

/** Returns the name of a target, or undefined if no such target can be locked. A revoked device cannot be locked. */
export const lockTargetName = async (
  tx: Tx,
  tenant: TenantId,
  { type, id }: LockTarget,
): Promise<string | undefined> => {
  const named = {
    device: sql`select name from devices where tenant_id = ${tenant} and device_id = ${id} and status <> 'revoked'`,
    gateway: sql`select name from gateways where tenant_id = ${tenant} and gateway_id = ${id} and deleted_at is null`,
    group: sql`select name from groups where tenant_id = ${tenant} and group_id = ${id}`,
    tenant: sql`select name from tenants where tenant_id = ${id} and tenant_id = ${tenant}`,
    user: sql`select username as name from users where tenant_id = ${tenant} and user_id = ${id}`,
  }[type]
  const { rows } = await sql<{ name: string }>`${named}`.execute(tx)
  return rows[0]?.name
}

/** Returns the users and the devices of a group, each at most `limit`. */
export const boundByGroup = async (tx: Tx, tenant: TenantId, group: string, limit: number) => {
  const users = await sql<{ id: string }>`
    select user_id as id from group_members where tenant_id = ${tenant} and group_id = ${group} limit ${limit}`.execute(
    tx,
  )
  const devices = await sql<{ id: string }>`
    select device_id as id from device_groups where tenant_id = ${tenant} and group_id = ${group} limit ${limit}`.execute(
    tx,
  )
  return { users: users.rows.map((r) => r.id), devices: devices.rows.map((r) => r.id) }
}

/** A released lock is kept as long as usage is, and while a legal hold covers the whole tenant. */
export const pruneLocks = deleting('locks', sql`released_at < ${purgeTime} - interval '400 days' and ${isNotAllHeld}`)
