import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
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

/** Of a device, if one is named; the others are not there for it. */
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

/** Those of these devices, and of the devices of these users, that still count. Says whose they were. */
export const revokeOf = async (
  tx: Tx,
  tenant: TenantId,
  { deviceIds, userIds }: { deviceIds: readonly string[]; userIds: readonly string[] },
  { reason, at }: { reason: string; at: Date },
): Promise<string[]> => {
  const { rows } = await sql<{ issuer_id: string }>`
    update spcs set status = 'revoked', revoked_at = ${at}, revocation_reason = ${reason}
     where tenant_id = ${tenant} and status <> 'revoked' and not_after > ${at}
       and device_id in (
         select unnest(${deviceIds}::uuid[])
         union select device_id from devices where tenant_id = ${tenant} and user_id = any(${userIds}::uuid[]))
     returning issuer_id`.execute(tx)
  return rows.map((r) => r.issuer_id)
}

export const revokeOfIssuers = (
  tx: Tx,
  tenant: TenantId,
  issuerIds: readonly string[],
  { reason, at }: { reason: string; at: Date },
) =>
  tx
    .updateTable('spcs')
    .set({ status: 'revoked', revoked_at: at, revocation_reason: reason })
    .where('tenant_id', '=', tenant)
    .where('issuer_id', '=', sql<string>`any(${issuerIds}::uuid[])`)
    .where('status', '<>', 'revoked')
    .where('not_after', '>', at)
    .execute()

/** Those whose overlap is over, some at a time. Says whose they were. */
export const revokeSuperseded = async (tx: Tx, tenant: TenantId, at: Date, limit: number): Promise<string[]> => {
  const { rows } = await sql<{ issuer_id: string }>`
    update spcs set status = 'revoked', revoked_at = revoke_after, revocation_reason = 'superseded'
     where tenant_id = ${tenant} and status = 'superseded' and ctid = any(array(
       select ctid from spcs where tenant_id = ${tenant} and status = 'superseded' and revoke_after <= ${at}
       limit ${limit} for update skip locked))
     returning issuer_id`.execute(tx)
  return rows.map((r) => r.issuer_id)
}

/** Passes the tenant wall: where an overlap is over. */
export const tenantsWithSuperseded = async (tx: Tx, at: Date): Promise<TenantId[]> => {
  const rows = await tx
    .selectFrom('spcs')
    .select('tenant_id')
    .distinct()
    .where('status', '=', 'superseded')
    .where('revoke_after', '<=', at)
    .execute()
  return rows.map((r) => r.tenant_id)
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
/** What of a tenant is superseded or revoked and has not ended; of some of them or of some devices, where they are named. */
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

/** Kept for a while after their end, for who asks what became of one. */
export const pruneSpcs = deleting('spcs', sql`not_after < now() - interval '90 days'`)
