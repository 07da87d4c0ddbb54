import { absentUserDays } from '@holdfast/contract/limits'
import { background, type Database } from '../../../db/database.ts'
import { jobSource, type TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { day } from '../../../kernel/time.ts'
import type { Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import { type Offboarding, userDeleted } from '../../offboarding/index.ts'
import { lockGroups, removeMembers } from '../people/groups.queries.ts'
import { findUser, softDelete } from '../people/users.queries.ts'
import { lockAbsent } from './owned.queries.ts'

const keptMs = absentUserDays * day
const atOnce = 200

/** Deletes suspended users that their directory has not named for a while. Returns their number. */
export function createAbsence(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  offboarding: Pick<Offboarding, 'cutAccess'>
}) {
  const { db, audit, changes, now, offboarding } = deps

  const deleteSome = (tenant: TenantId): Promise<number> =>
    db.inTenant(
      tenant,
      async (tx) => {
        const at = now()
        const absentUsers: { id: string; name: string; groups: string[] }[] = []
        for (const id of await lockAbsent(tx, tenant, new Date(at.getTime() - keptMs), atOnce)) {
          const user = await findUser(tx, tenant, id)
          if (user && (await softDelete(tx, tenant, id, at)))
            absentUsers.push({ id, name: user.username, groups: user.group_ids })
        }
        if (absentUsers.length === 0) return 0
        const pairs = absentUsers.flatMap(({ id, groups }) => groups.map((group) => ({ group, user: id })))
        await lockGroups(tx, tenant, [...new Set(pairs.map((p) => p.group))])
        await removeMembers(tx, tenant, pairs, at)
        const source = jobSource(tenant, 'delete_absent_users')
        const left = absentUsers.map(({ id: user_id, name: username }) => ({ user_id, username }))
        const cut = await offboarding.cutAccess(tx, source, left, userDeleted)
        await audit.recordAll(
          tx,
          absentUsers.map(({ id, name }) => {
            const user_id = encodeId('user', id)
            const target = { type: 'user', id: user_id, name }
            const details = { reason: `the directory has not listed the user for ${absentUserDays} days` }
            return { source, kind: 'user.changed', fields: { operation: 'delete', user_id }, more: { target, details } }
          }),
        )
        await changes.record(tx, tenant, [
          ...absentUsers.map(({ id }) => ({ kind: 'user', subject: id }) as const),
          ...cut.changes,
        ])
        return absentUsers.length
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
