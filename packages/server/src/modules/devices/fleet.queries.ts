import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { DeviceStatus, LockedBy, Tables, UserState } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { lockedBy, userState } from './effective.queries.ts'

type Device = Selectable<Tables['devices']>
/** `seq`: the tenant's sequence number in the same snapshot. */
export type FleetRow = Pick<
  Device,
  | 'device_id'
  | 'user_id'
  | 'name'
  | 'platform'
  | 'client_version'
  | 'os_version'
  | 'arch'
  | 'channel'
  | 'tags'
  | 'group_ids'
  | 'jkt'
  | 'previous_jkt'
  | 'generation'
  | 'previous_generation_until'
  | 'wireguard_public_key'
  | 'previous_wireguard_public_key'
  | 'previous_wireguard_until'
  | 'address_number'
  | 'credential_expires_at'
> & { status: Exclude<DeviceStatus, 'revoked'>; locked_by: LockedBy | null; seq: number } & PostureRow
type Posture = Selectable<Tables['device_postures']>
/** Null if the device has never reported. */
type PostureRow = { [K in 'facts' | 'reported_at' | 'verdict']: Posture[K] | null }

/** Only the named facts of a report. */
const postureOf = (names: readonly string[]) =>
  sql`${names.length === 0 ? sql`null` : sql`(select jsonb_object_agg(name, p.facts -> name) from unnest(${names}::text[]) as name where p.facts ? name)`} as facts,
    p.reported_at, p.verdict`

type Condition = ReturnType<typeof sql>
/**
 * `which` is applied to devices and to reports: both are merge-joined by page, and a page would otherwise read the
 * reports of all pages before it.
 */
const devicesWhere = async (
  tx: Tx,
  tenant: TenantId,
  facts: readonly string[],
  which: (id: Condition) => Condition,
  page = sql``,
) =>
  (
    await sql<FleetRow>`
      select devices.device_id, devices.user_id, devices.name, devices.platform, devices.client_version, devices.os_version, devices.arch, devices.status, devices.channel, devices.tags,
        devices.group_ids, devices.jkt, devices.previous_jkt,
        devices.generation, devices.previous_generation_until, devices.wireguard_public_key,
        devices.previous_wireguard_public_key,
        devices.previous_wireguard_until, devices.address_number, devices.credential_expires_at, ${lockedBy(tenant)} as locked_by, e.seq,
        ${postureOf(facts)}
      from devices join tenant_epochs e on e.tenant_id = ${tenant}
      left join device_postures p on p.tenant_id = ${tenant} and p.device_id = devices.device_id and ${which(sql`p.device_id`)}
      where devices.tenant_id = ${tenant} and devices.status <> 'revoked' and ${which(sql`devices.device_id`)} ${page}`.execute(
      tx,
    )
  ).rows

/** The next `limit` devices after an ID, in ID order, without revoked ones. */
export const devicesAfter = (tx: Tx, tenant: TenantId, facts: readonly string[], after: string, limit: number) =>
  devicesWhere(tx, tenant, facts, (id) => sql`${id} > ${after}`, sql`order by devices.device_id limit ${limit}`)

export const devicesById = (tx: Tx, tenant: TenantId, facts: readonly string[], ids: readonly string[]) =>
  devicesWhere(tx, tenant, facts, (id) => sql`${id} = any(${ids}::uuid[])`)

/** The next `limit` reports after a device ID, in ID order: all, or only those that were not announced. */
export const posturesAfter = async (
  tx: Tx,
  tenant: TenantId,
  { facts, which }: { facts: readonly string[]; which: 'all' | 'untold' },
  after: string,
  limit: number,
) =>
  (
    await sql<PostureRow & { device_id: string; seq: number }>`
      select p.device_id, e.seq, ${postureOf(facts)} from device_postures p
      join tenant_epochs e on e.tenant_id = ${tenant}
      where p.tenant_id = ${tenant} and p.device_id > ${after}
        and ${which === 'all' ? sql`true` : sql`(p.told_at is null or p.reported_at > p.told_at)`}
      order by p.device_id limit ${limit}`.execute(tx)
  ).rows

export type FleetUserRow = { user_id: string; state: UserState; mfa_at: Date | null; group_ids: string[]; seq: number }

const usersWhere = async (tx: Tx, tenant: TenantId, where: Condition) =>
  (
    await sql<FleetUserRow>`
      select u.user_id, ${userState(tenant)} as state, u.mfa_at, e.seq,
        array(select m.group_id from group_members m where m.tenant_id = ${tenant} and m.user_id = u.user_id) as group_ids
      from users u join tenant_epochs e on e.tenant_id = ${tenant}
      where u.tenant_id = ${tenant} and ${where}`.execute(tx)
  ).rows

/** The next `limit` users after an ID, in ID order, with their groups. */
export const usersAfter = (tx: Tx, tenant: TenantId, after: string, limit: number) =>
  usersWhere(tx, tenant, sql`u.user_id > ${after} order by u.user_id limit ${limit}`)

export const usersById = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  usersWhere(tx, tenant, sql`u.user_id = any(${ids}::uuid[])`)
