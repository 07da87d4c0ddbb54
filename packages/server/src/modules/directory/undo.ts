import type { RunCounts } from '@holdfast/contract/directory'
import { background } from '../../db/database.ts'
import type { Actor } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { encodeId, missing } from '../../kernel/ids.ts'
import type { OwnedUser, Pair, UserAfter } from '../identity/index.ts'
import { behalfOf } from './acting-principal.ts'
import type { RunDeps } from './deps.ts'
import { letIn, type Plan, sameAs } from './plan.ts'
import type { DirectoryRunRow } from './runs.queries.ts'
import * as queries from './runs.queries.ts'

/** Users by group. */
type Members = Record<string, string[]>
type Content = { suspended: string[]; added: Members; removed: Members; counts: RunCounts }

/** Data needed to undo an applied plan. */
export function undoContentOf({ changes }: Plan, counts: RunCounts): string {
  const suspended = changes.changedUsers
    .filter(({ before, after }) => before.status === 'active' && after.status === 'suspended')
    .map(({ before }) => before.user_id)
  const content: Content = { suspended, added: byGroup(changes.added), removed: byGroup(changes.removed), counts }
  return JSON.stringify(content)
}
function byGroup(pairs: readonly Pair[]): Members {
  const members: Members = {}
  for (const { group_id, user_id } of pairs) {
    const known = members[group_id]
    if (known) known.push(user_id)
    else members[group_id] = [user_id]
  }
  return members
}
const pairsOf = (members: Members): Pair[] =>
  Object.entries(members).flatMap(([group_id, users]) => users.map((user_id) => ({ group_id, user_id })))

type Undone = {
  run: DirectoryRunRow
  changed: boolean
  undone: { users_reactivated: number; memberships_added: number; memberships_removed: number }
  left: {
    users_created: number
    users_updated: number
    users_reactivated: number
    groups_created: number
    groups_updated: number
    users_changed_since: number
    memberships_changed_since: number
  }
}
const nothing: Pick<Undone, 'undone' | 'left'> = {
  undone: { users_reactivated: 0, memberships_added: 0, memberships_removed: 0 },
  left: {
    users_created: 0,
    users_updated: 0,
    users_reactivated: 0,
    groups_created: 0,
    groups_updated: 0,
    users_changed_since: 0,
    memberships_changed_since: 0,
  },
}

/** Reverts the suspensions and membership changes of a directory's newest applied run, except those changed since. */
export const createUndo =
  ({ db, audit, changes, now, owned }: RunDeps) =>
  (actor: Actor, id: string, reason: string | undefined): Promise<Undone> => {
    const tenant = actor.tenantId
    return db.inTenant(
      tenant,
      async (tx) => {
        const found = (await queries.findDirectoryRun(tx, tenant, id)) ?? missing('directory_run')
        if (found.directory_id === null) return notApplied(found)
        const directory = (await queries.lockDirectory(tx, tenant, found.directory_id)) ?? missing('directory_run')
        const places = await owned.holdPlaces(tx, tenant)
        const run = (await queries.findDirectoryRun(tx, tenant, id)) ?? missing('directory_run')
        if (run.source === 'scim')
          fail('validation_error', 'changes by SCIM cannot be undone here: undo them at the identity provider')
        if (run.undone_at) return { run, changed: false, ...nothing }
        if (run.status !== 'applied') return notApplied(run)
        const newest = await queries.newestRun(tx, tenant, directory.directory_id, 'applied')
        const content = await queries.findContent(tx, tenant, id)
        if (newest?.run_id !== id || content === undefined)
          return fail('validation_error', 'a later run was applied: only the newest run can be undone')
        const { suspended, added, removed, counts } = JSON.parse(content) as Content
        if (suspended.length + Object.keys(added).length + Object.keys(removed).length === 0)
          return fail(
            'validation_error',
            'the run suspended no user and changed no membership, so there is nothing to undo',
          )

        const users = await owned.usersOf(tx, tenant, directory.directory_id)
        const known = new Map(users.map((u) => [u.user_id, u]))
        const groups = new Set((await owned.groupsOf(tx, tenant, directory.directory_id)).map((g) => g.group_id))
        const changedUsers = suspended.flatMap((user) => {
          const before = known.get(user)
          return before?.suspended_by_directory ? [{ before, after: backIn(before) }] : []
        })
        const isThere = (p: Pair) => known.has(p.user_id) && groups.has(p.group_id)
        const [came, went] = [pairsOf(added), pairsOf(removed)]
        const details = { run_id: encodeId('directory_run', id), provider: run.provider, undone: true }
        const made = await owned.apply(
          tx,
          { ...behalfOf(actor), directory: directory.directory_id, details, places },
          {
            createdUsers: [],
            changedUsers,
            createdGroups: [],
            renamedGroups: [],
            added: went.filter(isThere),
            removed: came.filter(isThere),
          },
        )
        await queries.markUndone(tx, tenant, id, now())
        await queries.deleteContent(tx, tenant, id)
        const undone = {
          users_reactivated: changedUsers.length,
          memberships_added: made.added,
          memberships_removed: made.removed,
        }
        const left = {
          users_created: counts.users.created,
          users_updated: counts.users.updated,
          users_reactivated: counts.users.reactivated,
          groups_created: counts.groups.created,
          groups_updated: counts.groups.updated,
          users_changed_since: suspended.length - changedUsers.length,
          memberships_changed_since: came.length + went.length - made.added - made.removed,
        }
        const fields = { run_id: details.run_id, provider: run.provider }
        const target = { type: 'directory_run', id: details.run_id, name: run.provider }
        const undoDetails = { undone, left, ...(reason !== undefined && { reason }) }
        await audit.record(tx, actor, 'directory.sync_undone', fields, { target, details: undoDetails })
        if (made.touched.length > 0) await changes.record(tx, tenant, made.touched)
        return {
          run: (await queries.findDirectoryRun(tx, tenant, id)) ?? missing('directory_run'),
          changed: true,
          undone,
          left,
        }
      },
      background,
    )
  }

const notApplied = ({ status }: DirectoryRunRow): never =>
  fail('validation_error', `this run is ${status}: only an applied run can be undone`)

const backIn = (user: OwnedUser): UserAfter => ({ ...sameAs(user), ...letIn(user, true) })
