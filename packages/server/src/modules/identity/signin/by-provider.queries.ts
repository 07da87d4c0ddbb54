import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** The name of the person who signs in now; undefined for whoever may not, or is no person. */
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
