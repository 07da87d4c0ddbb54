import type { Selectable } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type StoredSettings = Pick<
  Selectable<Tables['notification_settings']>,
  'email' | 'webhook' | 'webhook_secret_jwe'
>

export const read = (tx: Tx, tenant: TenantId): Promise<StoredSettings | undefined> =>
  tx
    .selectFrom('notification_settings')
    .select(['email', 'webhook', 'webhook_secret_jwe'])
    .where('tenant_id', '=', tenant)
    .executeTakeFirst()

/** Locks the row until commit, so that the second of two changes sees the first. */
export const lock = async (tx: Tx, tenant: TenantId, at: Date): Promise<StoredSettings> => {
  await tx
    .insertInto('notification_settings')
    .values({ tenant_id: tenant, email: '{}', webhook: '{}', webhook_secret_jwe: null, updated_at: at })
    .onConflict((c) => c.column('tenant_id').doNothing())
    .execute()
  return tx
    .selectFrom('notification_settings')
    .select(['email', 'webhook', 'webhook_secret_jwe'])
    .where('tenant_id', '=', tenant)
    .forUpdate()
    .executeTakeFirstOrThrow()
}

export const write = (
  tx: Tx,
  tenant: TenantId,
  s: { email: object; webhook: object; webhook_secret_jwe: string | null },
  at: Date,
) =>
  tx
    .updateTable('notification_settings')
    .set({
      email: JSON.stringify(s.email),
      webhook: JSON.stringify(s.webhook),
      webhook_secret_jwe: s.webhook_secret_jwe,
      updated_at: at,
    })
    .where('tenant_id', '=', tenant)
    .execute()
