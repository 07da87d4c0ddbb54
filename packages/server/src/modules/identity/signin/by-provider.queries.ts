import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** The name of a person who may come in, whose row is held until commit; undefined for everybody else. */
export const holdAdmitted = async (tx: Tx, tenant: TenantId, user: string): Promise<string | undefined> =>
  (
    await tx
      .selectFrom('users')
      .select('username')
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', user)
      .where('kind', '=', 'person')
      .where('status', '=', 'active')
      .where('deleted_at', 'is', null)
      .forNoKeyUpdate()
      .executeTakeFirst()
  )?.username

/** The same for somebody who signs in now. */
export const admitByProvider = async (tx: Tx, tenant: TenantId, user: string, at: Date): Promise<string | undefined> =>
  (
    await tx
      .updateTable('users')
      .set({ last_login_at: at })
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', user)
      .where('kind', '=', 'person')
      .where('status', '=', 'active')
      .where('deleted_at', 'is', null)
      .returning('username')
      .executeTakeFirst()
  )?.username
