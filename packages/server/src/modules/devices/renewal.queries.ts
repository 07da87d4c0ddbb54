import { sql, type Updateable } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type Renewal = Pick<
  Updateable<Tables['devices']>,
  | 'generation'
  | 'previous_generation_until'
  | 'previous_jkt'
  | 'jkt'
  | 'public_jwk'
  | 'credential_expires_at'
  | 'credential_renew_after'
  | 'os_version'
  | 'client_version'
  | 'arch'
>
const isNew = (key: string | null) => sql`coalesce(${key}::text <> wireguard_public_key, ${key}::text is not null)`
/** The previous generation is still valid and has the previous WireGuard key. */
const isUnderWay = sql`coalesce(previous_wireguard_until = previous_generation_until, false)`

/** New WireGuard key of the device, if any, and the time until which the replaced key is served beside it. */
type TunnelKey = { key: string | null; previousUntil: Date }

/**
 * Moves a device to its next generation. Of two concurrent renewals exactly one gets the row. A renewal may be repeated
 * because its answer was lost, while the previous generation is still valid. It then replaces the key of the lost
 * renewal, not the key that the device still uses.
 */
export const renewDevice = (
  tx: Tx,
  tenant: TenantId,
  deviceId: string,
  fromGeneration: number,
  renewal: Renewal,
  { key, previousUntil }: TunnelKey,
  at: Date,
) =>
  tx
    .updateTable('devices')
    .set({
      ...renewal,
      updated_at: at,
      wireguard_public_key: sql`coalesce(${key}::text, wireguard_public_key)`,
      previous_wireguard_public_key: sql`case when ${isNew(key)} and not ${isUnderWay} then wireguard_public_key
        else previous_wireguard_public_key end`,
      previous_wireguard_until: sql`case when ${isUnderWay} or ${isNew(key)} and wireguard_public_key is not null
        then ${previousUntil}::timestamptz else previous_wireguard_until end`,
    })
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .where('generation', '=', fromGeneration)
    .where('status', 'in', ['active', 'pending'])
    .where(
      sql<boolean>`not coalesce(previous_wireguard_public_key = ${key}::text and previous_wireguard_until > ${at}, false)`,
    )
    .returning(['device_id', 'name', 'user_id', 'status'])
    .executeTakeFirst()

export const findForRenewal = (tx: Tx, tenant: TenantId, deviceId: string) =>
  tx
    .selectFrom('devices')
    .select([
      'generation',
      'jkt',
      'previous_jkt',
      'public_jwk',
      'user_id',
      'status',
      'address_number',
      'wireguard_public_key',
      'enrolled_method',
    ])
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .executeTakeFirst()
