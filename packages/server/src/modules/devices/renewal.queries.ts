import type { Updateable } from 'kysely'
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
  | 'wireguard_public_key'
  | 'os_version'
  | 'client_version'
>
/** Moves a device to its next generation; of two renewals at once exactly one gets the row. */
export const renewDevice = (
  tx: Tx,
  tenant: TenantId,
  deviceId: string,
  fromGeneration: number,
  renewal: Renewal,
  at: Date,
) =>
  tx
    .updateTable('devices')
    .set({ ...renewal, updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .where('generation', '=', fromGeneration)
    .where('status', 'in', ['active', 'pending'])
    .returning(['device_id', 'name', 'user_id', 'status', 'enrolled_method'])
    .executeTakeFirst()

export const findForRenewal = (tx: Tx, tenant: TenantId, deviceId: string) =>
  tx
    .selectFrom('devices')
    .select(['generation', 'jkt', 'previous_jkt', 'public_jwk', 'user_id', 'status', 'address_number'])
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .executeTakeFirst()
