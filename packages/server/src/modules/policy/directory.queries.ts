import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

type Found = { name: string; id: string }

// One join for each kind of name. A single join with `or` would compare every name with every row.

/**
 * Finds users by user_id or username, else by e-mail. A name that matches several users by user_id or username finds
 * none.
 */
export const usersNamed = async (tx: Tx, tenant: TenantId, names: readonly string[], ids: readonly string[]) =>
  (
    await sql<Found>`
      with n as (select * from unnest(${names}::text[], ${ids}::text[]) as n (name, id)),
        u as (select user_id, username_key, email_key from users where tenant_id = ${tenant} and deleted_at is null),
        found as (
          select n.name, u.user_id, 1 as way from n join u on u.user_id = nullif(n.id, '')::uuid
          union select n.name, u.user_id, 1 from n join u on u.username_key = lower(n.name)
          union select n.name, u.user_id, 2 from n join u on u.email_key = lower(n.name)),
        ranked as (select name, user_id, way, min(way) over (partition by name) as best from found)
      select name, min(user_id::text) as id from ranked where way = best group by name having count(*) = 1`.execute(tx)
  ).rows

export const groupsNamed = async (tx: Tx, tenant: TenantId, names: readonly string[], ids: readonly string[]) =>
  (
    await sql<Found>`
      with n as (select * from unnest(${names}::text[], ${ids}::text[]) as n (name, id)),
        g as (select group_id, name_key from groups where tenant_id = ${tenant})
      select n.name, g.group_id::text as id from n join g on g.group_id = nullif(n.id, '')::uuid
      union select n.name, g.group_id::text from n join g on g.name_key = lower(n.name)`.execute(tx)
  ).rows

/** Returns names of groups, at most `limit`. */
export const groupNames = async (tx: Tx, tenant: TenantId, limit: number): Promise<string[]> =>
  (
    await sql<{ name: string }>`
      select name from groups where tenant_id = ${tenant} order by name_key limit ${limit}`.execute(tx)
  ).rows.map(({ name }) => name)

export const devicesNamed = async (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  (
    await sql<{ id: string }>`
      select device_id::text as id from devices where tenant_id = ${tenant} and device_id::text = any(${ids}::text[])`.execute(
      tx,
    )
  ).rows

export const poolsNamed = async (tx: Tx, tenant: TenantId, names: readonly string[], ids: readonly string[]) =>
  (
    await sql<Found>`
      select n.name, p.pool_id::text as id from unnest(${names}::text[], ${ids}::text[]) as n (name, id)
      join gateway_pools p on p.tenant_id = ${tenant} and (p.pool_id::text = n.id or p.name_key = lower(n.name))`.execute(
      tx,
    )
  ).rows

/** Locks groups against deletion until commit. Returns those that exist. */
export const holdGroups = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  heldOf(
    sql<{ id: string }>`select group_id::text as id from groups
      where tenant_id = ${tenant} and group_id = any(${ids}::uuid[]) order by group_id for key share`.execute(tx),
  )
/** Does the same for pools, which are locked after groups. */
export const holdPools = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  heldOf(
    sql<{ id: string }>`select pool_id::text as id from gateway_pools
      where tenant_id = ${tenant} and pool_id = any(${ids}::uuid[]) order by pool_id for key share`.execute(tx),
  )
const heldOf = async (found: Promise<{ rows: { id: string }[] }>) => new Set((await found).rows.map((r) => r.id))

export const groupsOfUsers = async (tx: Tx, tenant: TenantId, userIds: readonly string[]) =>
  (
    await sql<{ user_id: string; group_ids: string[] }>`
      select user_id, array_agg(group_id) as group_ids from group_members
      where tenant_id = ${tenant} and user_id = any(${userIds}::uuid[]) group by user_id`.execute(tx)
  ).rows

/** Returns the last report of a device. */
export const reportOfDevice = async (tx: Tx, tenant: TenantId, deviceId: string) => {
  const row = await tx
    .selectFrom('device_postures')
    .select(['facts', 'reported_at'])
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .executeTakeFirst()
  return row ? { facts: row.facts, reported_at: row.reported_at.getTime() } : null
}

type Parties = { users: readonly string[]; groups: readonly string[]; devices: readonly string[] }
/** Returns names by UUID. A deleted party is left out. */
export const namesOfParties = async (tx: Tx, tenant: TenantId, { users, groups, devices }: Parties) => {
  const { rows } = await sql<Found>`
    select user_id::text as id, username as name from users
      where tenant_id = ${tenant} and user_id = any(${users}::uuid[]) and deleted_at is null
    union all select group_id::text, name from groups
      where tenant_id = ${tenant} and group_id = any(${groups}::uuid[])
    union all select device_id::text, name from devices
      where tenant_id = ${tenant} and device_id = any(${devices}::uuid[])`.execute(tx)
  return new Map(rows.map((r) => [r.id, r.name]))
}
