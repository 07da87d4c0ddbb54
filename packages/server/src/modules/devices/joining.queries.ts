import { type Selectable, sql } from 'kysely'
import { keyedLocks } from '../../db/advisory-locks.ts'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { LimitGrant } from '../../kernel/allowance.ts'

/**
 * Serializes, until commit, transactions that take or release one of these WireGuard keys. Must come first, because a
 * transaction that waits for a row of the unique index must not hold the tenant's epoch. The holder of the row takes
 * the epoch next, so that would be a deadlock.
 */
export const holdTunnelKeys = async (tx: Tx, tenant: TenantId, keys: readonly string[]): Promise<void> => {
  if (keys.length === 0) return
  await sql`
    select pg_advisory_xact_lock(${sql.lit(keyedLocks.tunnelKeys)}, bucket) from (
      select distinct hashtext(${tenant}::text || key) & 63 as bucket from unnest(${keys}::text[]) as key order by 1) as b`.execute(
    tx,
  )
}

/**
 * Returns those of these keys that belong to devices. Waits for transactions that change such a device, because they
 * take the tenant's epoch next: to wait later, while holding the epoch, would deadlock. Separate look-ups are fast,
 * even with outdated statistics of a growing table.
 */
export async function lockKeys(tx: Tx, tenant: TenantId, jkts: readonly string[]): Promise<Set<string>> {
  if (jkts.length === 0) return new Set()
  const { rows: found } = await sql<{ device_id: string }>`
    select held.device_id from unnest(${jkts}::text[]) as k (jkt), lateral (
      select device_id from devices where tenant_id = ${tenant} and jkt = k.jkt and status <> 'revoked' limit 1) as held`.execute(
    tx,
  )
  if (found.length === 0) return new Set()
  const { rows } = await sql<{ jkt: string }>`
    select jkt from devices
     where tenant_id = ${tenant} and device_id = any(${found.map((r) => r.device_id)}::uuid[])
       and jkt = any(${jkts}::text[]) and status <> 'revoked'
     order by device_id for share`.execute(tx)
  return new Set(rows.map((r) => r.jkt))
}

/**
 * Takes `count` address numbers of the tenant: first those released at least a day ago, then the next unused ones.
 * Locks the tenant's epoch until commit. The counter also runs past the last address.
 */
export async function takeAddresses(tx: Tx, tenant: TenantId, count: number): Promise<number[]> {
  const { rows } = await sql<{ address_number: number }>`
    delete from free_addresses where tenant_id = ${tenant} and address_number = any(array(
      select address_number from free_addresses
      where tenant_id = ${tenant} and released_at < now() - interval '24 hours'
      order by released_at, address_number limit ${count} for update skip locked))
    returning address_number`.execute(tx)
  const usedNumbers = rows.map((r) => r.address_number)
  const fresh = count - usedNumbers.length
  const { addresses } = await tx
    .updateTable('tenant_epochs')
    .set({ addresses: sql<number>`addresses + ${fresh}::bigint` })
    .where('tenant_id', '=', tenant)
    .returning('addresses')
    .executeTakeFirstOrThrow()
  return [...usedNumbers, ...Array.from({ length: fresh }, (_, i) => addresses - fresh + 1 + i)]
}

/** Releases numbers that were taken but not used. */
export async function giveBackAddresses(tx: Tx, tenant: TenantId, numbers: readonly number[]): Promise<void> {
  if (numbers.length === 0) return
  await tx
    .insertInto('free_addresses')
    .values(numbers.toSorted((a, b) => a - b).map((address_number) => ({ tenant_id: tenant, address_number })))
    .execute()
}

export type NewDevice = Pick<
  Selectable<Tables['devices']>,
  | 'device_id'
  | 'user_id'
  | 'name'
  | 'platform'
  | 'os_version'
  | 'client_version'
  | 'arch'
  | 'serial'
  | 'jkt'
  | 'public_jwk'
  | 'wireguard_public_key'
  | 'address_number'
  | 'credential_expires_at'
  | 'credential_renew_after'
  | 'ephemeral_seconds'
  | 'enrolled_at'
> & { tags: readonly string[]; group_ids: readonly string[]; status: 'pending' | 'active' } & EnrolledBy
/** Enrollment method of a device, with the columns that it fills. */
export type EnrolledBy =
  | { enrolled_method: 'token'; token_id: string; provider_id: null }
  | {
      enrolled_method: Exclude<Selectable<Tables['devices']>['enrolled_method'], 'token'>
      token_id: null
      provider_id: string
    }
/** Returns the IDs of the inserted devices. A device is left out if one of its keys now belongs to another device. */
export async function insertDevices(
  tx: Tx,
  _: LimitGrant,
  tenant: TenantId,
  devices: readonly NewDevice[],
): Promise<Set<string>> {
  const { rows } = await sql<{ device_id: string }>`
    insert into devices (tenant_id, device_id, user_id, name, platform, os_version, client_version, arch, serial, tags,
      group_ids, status, jkt, public_jwk, wireguard_public_key, address_number, credential_expires_at,
      credential_renew_after, enrolled_method, token_id, provider_id, ephemeral_seconds, enrolled_at)
    select ${tenant}::uuid, d.* from jsonb_to_recordset(${JSON.stringify(devices)}::jsonb) as d (device_id uuid,
      user_id uuid, name text, platform text, os_version text, client_version text, arch text, serial text, tags text[],
      group_ids uuid[], status text, jkt text, public_jwk jsonb, wireguard_public_key text, address_number bigint,
      credential_expires_at timestamptz, credential_renew_after timestamptz, enrolled_method text, token_id uuid,
      provider_id uuid, ephemeral_seconds integer, enrolled_at timestamptz)
    on conflict do nothing
    returning device_id`.execute(tx)
  return new Set(rows.map((r) => r.device_id))
}

/** Returns those of these WireGuard keys that devices have. */
export const takenWireguardKeys = async (tx: Tx, tenant: TenantId, keys: readonly string[]): Promise<Set<string>> => {
  if (keys.length === 0) return new Set()
  const rows = await tx
    .selectFrom('devices')
    .select('wireguard_public_key')
    .where('tenant_id', '=', tenant)
    .where('wireguard_public_key', '=', sql<string>`any(${keys}::text[])`)
    .where('status', '<>', 'revoked')
    .execute()
  return new Set(rows.flatMap((r) => r.wireguard_public_key ?? []))
}

/**
 * Returns those of these WireGuard keys that devices still have beside a newer one. The result is stable for a caller
 * that called `holdTunnelKeys`.
 */
export async function givenUpKeys(tx: Tx, tenant: TenantId, keys: readonly string[], at: Date): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const { rows } = await sql<{ key: string }>`
    select k.key from unnest(${keys}::text[]) as k (key), lateral (
      select from devices where tenant_id = ${tenant} and previous_wireguard_public_key = k.key
        and previous_wireguard_until > ${at} and status <> 'revoked' limit 1) as held`.execute(tx)
  return new Set(rows.map((r) => r.key))
}
