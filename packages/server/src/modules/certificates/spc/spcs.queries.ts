import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { purgeTime } from '../../../db/kept.ts'
import { deleting } from '../../../db/retention.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type SpcRow = Selectable<Tables['spcs']>
export type SpcFilter = { device_id?: string; status?: 'active' | 'superseded' | 'revoked' | 'expired' }

export function selectSpcs(tx: Tx, tenant: TenantId, { device_id, status }: SpcFilter, at: Date) {
  let select = tx.selectFrom('spcs').selectAll().where('tenant_id', '=', tenant)
  if (device_id !== undefined) select = select.where('device_id', '=', device_id)
  if (status === 'expired') select = select.where('not_after', '<=', at).where('status', '<>', 'revoked')
  else if (status !== undefined) select = select.where('status', '=', status)
  if (status === 'active' || status === 'superseded') select = select.where('not_after', '>', at)
  return select
}

export const findSpc = (tx: Tx, tenant: TenantId, spcId: string): Promise<SpcRow | undefined> =>
  selectSpcs(tx, tenant, {}, new Date(0)).where('spc_id', '=', spcId).executeTakeFirst()

/** Locks a certificate until commit. With `deviceId`, only a certificate of that device is found. */
export const lockSpc = (
  tx: Tx,
  tenant: TenantId,
  spcId: string,
  deviceId: string | undefined,
): Promise<SpcRow | undefined> =>
  selectSpcs(tx, tenant, deviceId === undefined ? {} : { device_id: deviceId }, new Date(0))
    .where('spc_id', '=', spcId)
    .forUpdate()
    .executeTakeFirst()

export const revoke = (
  tx: Tx,
  tenant: TenantId,
  spcId: string,
  { reason, at }: { reason: string; at: Date },
): Promise<SpcRow | undefined> =>
  tx
    .updateTable('spcs')
    .set({ status: 'revoked', revoked_at: at, revocation_reason: reason })
    .where('tenant_id', '=', tenant)
    .where('spc_id', '=', spcId)
    .where('status', '<>', 'revoked')
    .returningAll()
    .executeTakeFirst()

/** Issuer and expiry of those certificates that were issued. */
export const issuedOf = (tx: Tx, tenant: TenantId, spcIds: readonly string[]) =>
  tx
    .selectFrom('spcs')
    .select(['spc_id', 'issuer_id', 'not_after'])
    .where('tenant_id', '=', tenant)
    .where('spc_id', '=', sql<string>`any(${spcIds}::uuid[])`)
    .execute()

/** Devices that have had a certificate, with the expiry of the newest active one; null if none is active. */
export const endsOf = (tx: Tx, tenant: TenantId, deviceIds: readonly string[], at: Date) =>
  tx
    .selectFrom('spcs')
    .select('device_id')
    .select((eb) =>
      eb.fn.max('not_after').filterWhere('status', '=', 'active').filterWhere('not_after', '>', at).as('not_after'),
    )
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', sql<string>`any(${deviceIds}::uuid[])`)
    .groupBy('device_id')
    .execute()

type End = { reason: string; at: Date }
const anyNumber = 2 ** 31 - 1

/** Revokes the matching certificates that have not expired. Returns their issuers. */
const revokeWhere = async (
  tx: Tx,
  tenant: TenantId,
  where: RawBuilder<unknown>,
  { reason, at }: End,
  limit = anyNumber,
): Promise<string[]> => {
  const { rows } = await sql<{ issuer_id: string }>`
    with locked as (
      select spc_id from spcs
       where tenant_id = ${tenant} and status <> 'revoked' and not_after > ${at} and ${where}
       order by spc_id limit ${limit} for update)
    update spcs s set status = 'revoked', revoked_at = coalesce(least(s.revoke_after, ${at}), ${at}),
      revocation_reason = ${reason}
     from locked
     where s.tenant_id = ${tenant} and s.spc_id = locked.spc_id
     returning s.issuer_id`.execute(tx)
  return rows.map((r) => r.issuer_id)
}

/** Revokes the certificates of these devices, and of all devices of these users. */
export const revokeOf = (
  tx: Tx,
  tenant: TenantId,
  { deviceIds, userIds }: { deviceIds: readonly string[]; userIds: readonly string[] },
  end: End,
): Promise<string[]> =>
  revokeWhere(
    tx,
    tenant,
    sql`device_id in (
      select unnest(${deviceIds}::uuid[])
      union select d.device_id from devices d where d.tenant_id = ${tenant} and d.user_id = any(${userIds}::uuid[]))`,
    end,
  )

export const revokeOfIssuers = (tx: Tx, tenant: TenantId, issuerIds: readonly string[], end: End) =>
  revokeWhere(tx, tenant, sql`issuer_id = any(${issuerIds}::uuid[])`, end)

/** Revokes superseded certificates whose overlap has ended, at most `limit`. */
export const revokeSuperseded = (tx: Tx, tenant: TenantId, at: Date, limit: number): Promise<string[]> =>
  revokeWhere(tx, tenant, sql`status = 'superseded' and revoke_after <= ${at}`, { reason: 'superseded', at }, limit)

/** Bypasses tenant isolation. Tenants with a superseded certificate whose overlap has ended. */
export const tenantsWithSuperseded = async (tx: Tx, at: Date): Promise<TenantId[]> => {
  const rows = await tx
    .selectFrom('spcs')
    .select('tenant_id')
    .distinct()
    .where('status', '=', 'superseded')
    .where('revoke_after', '<=', at)
    .where('not_after', '>', at)
    .execute()
  return rows.map((r) => r.tenant_id)
}

/** Number of active certificates that expire on each day (UTC). */
export const endsByDay = async (tx: Tx, tenant: TenantId, at: Date) => {
  const { rows } = await sql<{ day: Date; count: number }>`
    select date_trunc('day', not_after, 'UTC') as day, count(*) as count from spcs
     where tenant_id = ${tenant} and status = 'active' and not_after > ${at}
     group by 1 order by 1 limit 366`.execute(tx)
  return rows
}

export const countOfIssuer = async (tx: Tx, tenant: TenantId, issuerId: string, at: Date): Promise<number> => {
  const { count } = await tx
    .selectFrom('spcs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenant)
    .where('issuer_id', '=', issuerId)
    .where('status', '<>', 'revoked')
    .where('not_after', '>', at)
    .executeTakeFirstOrThrow()
  return count
}

export type NotGood = Pick<SpcRow, 'spc_id' | 'device_id' | 'status' | 'not_after' | 'revoke_after' | 'revoked_at'> & {
  reason: string | null
}
/**
 * Superseded and revoked certificates of a tenant that have not expired. With `of`, only these certificates and those
 * of these devices.
 */
export const notGood = (
  tx: Tx,
  tenant: TenantId,
  at: Date,
  of?: { spcIds: readonly string[]; deviceIds: readonly string[] },
): Promise<NotGood[]> => {
  const all = tx
    .selectFrom('spcs')
    .select(['spc_id', 'device_id', 'status', 'not_after', 'revoke_after', 'revoked_at', 'revocation_reason as reason'])
    .where('tenant_id', '=', tenant)
    .where('status', '<>', 'active')
    .where('not_after', '>', at)
  if (!of) return all.execute()
  return all
    .where((eb) =>
      eb.or([
        eb('spc_id', '=', sql<string>`any(${of.spcIds}::uuid[])`),
        eb('device_id', '=', sql<string>`any(${of.deviceIds}::uuid[])`),
      ]),
    )
    .execute()
}

/** Kept for a while after expiry, for later look-ups. */
export const pruneSpcs = deleting('spcs', sql`not_after < ${purgeTime} - interval '90 days'`)
