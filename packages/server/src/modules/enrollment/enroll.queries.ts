import { type Insertable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** The tenant's next device number. Locks the tenant's epoch until commit: the caller's change comes next. */
export const takeAddress = async (tx: Tx, tenant: TenantId): Promise<number> =>
  (
    await tx
      .updateTable('tenant_epochs')
      .set({ addresses: sql<number>`addresses + 1` })
      .where('tenant_id', '=', tenant)
      .returning('addresses')
      .executeTakeFirstOrThrow()
  ).addresses

/** Undefined when the key is already that of another device. */
export const insertDevice = (tx: Tx, row: Insertable<Tables['devices']>) =>
  tx
    .insertInto('devices')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'jkt']).where('status', '<>', 'revoked').doNothing())
    .returning('device_id')
    .executeTakeFirst()

/** Locks the user, so that two enrollments for one user count one after the other. */
export const countDevicesOfUser = async (tx: Tx, tenant: TenantId, userId: string): Promise<number> => {
  await tx
    .selectFrom('users')
    .select('user_id')
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', userId)
    .forUpdate()
    .execute()
  const row = await tx
    .selectFrom('devices')
    .select((eb) => eb.fn.countAll<number>().as('devices'))
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', userId)
    .where('status', '<>', 'revoked')
    .executeTakeFirstOrThrow()
  return Number(row.devices)
}

export type Renewal = {
  generation: number
  previous_generation_until: Date
  previous_jkt: string | null
  jkt: string | null
  public_jwk: string | null
  credential_expires_at: Date
  credential_renew_after: Date
  wireguard_public_key?: string
  os_version?: string
  client_version?: string
}
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
    .select(['generation', 'jkt', 'previous_jkt', 'public_jwk', 'user_id', 'status'])
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .executeTakeFirst()
