import { sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { DeviceStatus } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { SpcRow } from './spcs.queries.ts'

type Owned = { device_id: string; user_id: string | null }
/**
 * Locks devices and their users until commit, users first. The result lacks devices whose row or user is locked by
 * another transaction, or whose user has changed. A suspension therefore takes effect entirely before or after this
 * transaction.
 */
export async function holdDevices(
  tx: Tx,
  tenant: TenantId,
  requestedFor: readonly Owned[],
): Promise<Map<string, HeldDevice>> {
  const userIds = [...new Set(requestedFor.flatMap((a) => a.user_id ?? []))]
  const users =
    userIds.length === 0
      ? []
      : await tx
          .selectFrom('users')
          .select(['user_id', 'status'])
          .where('tenant_id', '=', tenant)
          .where('user_id', '=', sql<string>`any(${userIds}::uuid[])`)
          .orderBy('user_id')
          .forShare()
          .skipLocked()
          .execute()
  const statusOf = new Map(users.map((u) => [u.user_id, u.status]))
  const lockedDevices = await tx
    .selectFrom('devices')
    .select(['device_id', 'user_id', 'status'])
    .select(sql<boolean>`device_is_locked(${tenant}, device_id)`.as('is_locked'))
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', sql<string>`any(${requestedFor.map((a) => a.device_id)}::uuid[])`)
    .orderBy('device_id')
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  return new Map(
    lockedDevices
      .filter((d) => d.user_id === null || statusOf.has(d.user_id))
      .map((d) => [d.device_id, { ...d, isUserSuspended: d.user_id !== null && statusOf.get(d.user_id) !== 'active' }]),
  )
}
export type HeldDevice = {
  device_id: string
  user_id: string | null
  status: DeviceStatus
  is_locked: boolean
  isUserSuspended: boolean
}

export const isDevice = (tx: Tx, tenant: TenantId, deviceId: string): Promise<boolean> =>
  affectedRow(
    tx.selectFrom('devices').select('device_id').where('tenant_id', '=', tenant).where('device_id', '=', deviceId),
  )

/** Maps the keys (RFC 7638 thumbprints) that belong to a device to that device. */
export const devicesWithKeys = async (
  tx: Tx,
  tenant: TenantId,
  thumbprints: readonly string[],
): Promise<Map<string, string>> => {
  const rows = await tx
    .selectFrom('devices')
    .select(['jkt', 'device_id'])
    .where('tenant_id', '=', tenant)
    .where('jkt', '=', sql<string>`any(${thumbprints}::text[])`)
    .execute()
  return new Map(rows.flatMap((r) => (r.jkt === null ? [] : [[r.jkt, r.device_id]])))
}

/** Number of active certificates of each device. */
export const countsOf = async (
  tx: Tx,
  tenant: TenantId,
  deviceIds: readonly string[],
  at: Date,
): Promise<Map<string, number>> => {
  const rows = await tx
    .selectFrom('spcs')
    .select((eb) => ['device_id', eb.fn.countAll<number>().as('count')])
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', sql<string>`any(${deviceIds}::uuid[])`)
    .where('status', '=', 'active')
    .where('not_after', '>', at)
    .groupBy('device_id')
    .execute()
  return new Map(rows.map((r) => [r.device_id, r.count]))
}

/** Locks the certificates to be replaced until commit. The result has only active ones. */
export const lockActive = async (tx: Tx, tenant: TenantId, spcIds: readonly string[], at: Date) => {
  const rows = await tx
    .selectFrom('spcs')
    .select(['spc_id', 'device_id'])
    .where('tenant_id', '=', tenant)
    .where('spc_id', '=', sql<string>`any(${spcIds}::uuid[])`)
    .where('status', '=', 'active')
    .where('not_after', '>', at)
    .orderBy('spc_id')
    .forUpdate()
    .execute()
  return new Map(rows.map((r) => [r.spc_id, r.device_id]))
}

/** Inserts the certificates whose key is new in the tenant. Returns their IDs. */
export const insertSpcs = async (tx: Tx, tenant: TenantId, spcs: readonly SpcRow[]): Promise<Set<string>> => {
  const { rows } = await sql<{ spc_id: string }>`
    insert into spcs (tenant_id, spc_id, device_id, user_id, issuer_id, status, certificate, spki_sha256,
      fingerprint_sha256, not_before, not_after, renew_after, policy_channel, policy_version, policy_digest, replaces,
      issued_at)
    select ${tenant}, s.spc_id, s.device_id, s.user_id, s.issuer_id, 'active', s.certificate, s.spki_sha256,
      s.fingerprint_sha256, s.not_before, s.not_after, s.renew_after, s.policy_channel, s.policy_version,
      s.policy_digest, s.replaces, s.issued_at
    from jsonb_to_recordset(${JSON.stringify(spcs)}::jsonb) as s (spc_id uuid, device_id uuid, user_id uuid,
      issuer_id uuid, certificate text, spki_sha256 text, fingerprint_sha256 text, not_before timestamptz,
      not_after timestamptz, renew_after timestamptz, policy_channel text, policy_version bigint, policy_digest text,
      replaces uuid, issued_at timestamptz)
    order by s.spki_sha256
    on conflict (tenant_id, spki_sha256) do nothing
    returning spc_id`.execute(tx)
  return new Set(rows.map((r) => r.spc_id))
}

export const supersede = (tx: Tx, tenant: TenantId, spcIds: readonly string[], until: Date) =>
  tx
    .updateTable('spcs')
    .set({ status: 'superseded', revoke_after: until })
    .where('tenant_id', '=', tenant)
    .where('spc_id', '=', sql<string>`any(${spcIds}::uuid[])`)
    .where('status', '=', 'active')
    .execute()
