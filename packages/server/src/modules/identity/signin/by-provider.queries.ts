import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Returns the name of a person who may sign in, and locks the row until commit; undefined for everybody else. */
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

/** Like `holdAdmitted`, and also stores the time of the sign-in. */
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
