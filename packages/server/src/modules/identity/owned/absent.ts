import { background, type Database } from '../../../db/database.ts'
import { jobSource, type TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { day } from '../../../kernel/time.ts'
import type { Changes } from '../../../memory/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { Deletion } from '../people/deletion.ts'
import { findUser } from '../people/users.queries.ts'
import { lockAbsent } from './owned.queries.ts'

const keptMs = 30 * day
const atOnce = 200

/** Deletes users whom their directory has not named for 30 days and who are suspended. Says how many. */
export function createAbsence(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  deleteUsers: Deletion
}) {
  const { db, audit, changes, now, deleteUsers } = deps

  const deleteSome = (tenant: TenantId): Promise<number> =>
    db.inTenant(
      tenant,
      async (tx) => {
        const at = now()
        const found: { user_id: string; username: string; group_ids: string[] }[] = []
        for (const id of await lockAbsent(tx, tenant, new Date(at.getTime() - keptMs), atOnce)) {
          const user = await findUser(tx, tenant, id)
          if (user) found.push(user)
        }
        if (found.length === 0) return 0
        const source = jobSource(tenant, 'delete_absent_users')
        const deleted = await deleteUsers(tx, source, found)
        await audit.recordAll(
          tx,
          found.map((user) => {
            const user_id = encodeId('user', user.user_id)
            const target = { type: 'user', id: user_id, name: user.username }
            const details = { reason: 'its directory has not named it for 30 days' }
            return { source, kind: 'user.changed', fields: { operation: 'delete', user_id }, more: { target, details } }
          }),
        )
        await changes.record(tx, tenant, deleted.changes)
        return found.length
      },
      background,
    )

  return async (tenants: readonly TenantId[]): Promise<number> => {
    let count = 0
    await eachTenant(tenants, async (tenant) => {
      for (let n = atOnce; n === atOnce; count += n) n = await deleteSome(tenant)
    })
    return count
  }
}
