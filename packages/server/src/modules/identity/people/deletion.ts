import type { Tx } from '../../../db/database.ts'
import type { Source } from '../../../kernel/actor.ts'
import type { Change } from '../../../memory/changes.ts'
import type { EndSessionsOf, RevokeDevicesOf } from '../deps.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { lockGroups, removeMembers } from './groups.queries.ts'
import { entomb } from './users.queries.ts'

type DeletionDeps = {
  now: () => Date
  sessions: Pick<Sessions, 'endOfUsers'>
  endSessionsOf: EndSessionsOf
  revokeDevicesOf: RevokeDevicesOf
}
type Held = { user_id: string; group_ids: readonly string[] }

/**
 * The one way in which users are deleted, whoever asks: a tombstone stays, and all that they had ends in the same
 * transaction. The caller holds the users' rows, records an event for each user that went, and the changes.
 */
export const createDeletion =
  ({ now, sessions, endSessionsOf, revokeDevicesOf }: DeletionDeps) =>
  async (tx: Tx, source: Source, users: readonly Held[]) => {
    const { tenantId: tenant } = source
    const at = now()
    const went: Held[] = []
    for (const user of users) if (await entomb(tx, tenant, user.user_id, at)) went.push(user)
    const ids = went.map((user) => user.user_id)
    if (ids.length === 0) return { ids, changes: [] as Change[], terminated: 0 }
    const pairs = went.flatMap(({ user_id, group_ids }) => group_ids.map((group) => ({ group, user: user_id })))
    await lockGroups(tx, tenant, [...new Set(pairs.map((p) => p.group))])
    await removeMembers(tx, tenant, pairs, at)
    const devices = await revokeDevicesOf(tx, source, ids)
    const vpn = await endSessionsOf(tx, tenant, { userIds: ids, reason: 'revoked' })
    const admin = await sessions.endOfUsers(tx, source, ids)
    const changes: Change[] = [...ids.map((subject) => ({ kind: 'user', subject }) as const), ...devices, ...admin]
    return { ids, changes, terminated: vpn + admin.length }
  }
export type Deletion = ReturnType<typeof createDeletion>
