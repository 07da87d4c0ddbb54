import { type Database, RunAgain, type Tx } from '../../../db/database.ts'
import type { Source, TenantId } from '../../../kernel/actor.ts'
import type { Allowance, LimitGrant } from '../../../kernel/allowance.ts'
import { fail } from '../../../kernel/app-error.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { createSlices } from '../../../kernel/time-slice.ts'
import type { Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import { type Offboarding, userDeleted } from '../../offboarding/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { selectHolders } from '../people/administrators.queries.ts'
import { holdAdministrators, mayBeLast } from '../people/administrators.ts'
import { lockGroups } from '../people/groups.queries.ts'
import { softDelete } from '../people/users.queries.ts'
import { createAbsence } from './absent.ts'
import type { UserAfter } from './apply.queries.ts'
import * as writes from './apply.queries.ts'
import * as entries from './entries.queries.ts'
import type { OwnedUser } from './owned.queries.ts'
import * as queries from './owned.queries.ts'
import { balanceOf, type OwnedChanges, removedWith, touchedBy } from './owned-changes.ts'

/** Cause of a change: its source, the details of its events, and the number of users that the tenant may add. */
type Cause = {
  source: Source
  mayAddToGroups: boolean
  directory: string
  details: Record<string, unknown>
  places: Allowance
}

/** Rows in one statement. Each statement is short, so other work runs between them. */
const chunk = 2000

export function createOwned(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  offboarding: Pick<Offboarding, 'cutAccess' | 'cutSuspended'>
  tenancy: Pick<IdentityDeps['tenancy'], 'entitlements'>
}) {
  const { audit, now, offboarding, tenancy } = deps

  /** Locks users that change or join a group, and checks that they have not changed since they were read. */
  async function hold(
    tx: Tx,
    tenant: TenantId,
    directory: string,
    { changedUsers, added, createdUsers, deletedUsers = [], offboarded = [], returned = [] }: OwnedChanges,
  ) {
    const made = new Set(createdUsers.map((u) => u.user_id))
    const named = [...changedUsers.map(({ before }) => before), ...deletedUsers, ...offboarded, ...returned]
    const known = new Map(named.map((before) => [before.user_id, before]))
    const moved = added.filter((p) => !made.has(p.user_id)).map((p) => p.user_id)
    const ids = [...new Set([...known.keys(), ...moved])].sort()
    const found = await queries.lockOwnedUsers(tx, tenant, directory, ids)
    const changed = () => new RunAgain('another request changed a user meanwhile')
    if (found.length !== ids.length) throw changed()
    const slices = createSlices()
    for (const user of found) {
      const before = known.get(user.user_id)
      if (before && Object.keys(differences(before, user)).length > 0) throw changed()
      if (slices.isOver()) await slices.next()
    }
  }

  async function writeUsers(
    tx: Tx,
    { source: { tenantId: tenant }, directory, granted }: Pick<Cause, 'source' | 'directory'> & { granted: LimitGrant },
    all: OwnedChanges,
    at: Date,
  ) {
    for (const { user_id } of all.deletedUsers ?? []) await softDelete(tx, tenant, user_id, at)
    const renamed = all.changedUsers
      .filter(({ before, after }) => before.username !== after.username || before.email !== after.email)
      .map(({ before }) => before.user_id)
    await inChunks(renamed, (ids) => writes.setNamesAside(tx, tenant, ids))
    const after = all.changedUsers.map((u) => u.after)
    await inChunks(after, (users) => writes.updateUsers(tx, tenant, users, at))
    await inChunks(all.createdUsers, (users) => writes.insertUsers(tx, granted, tenant, directory, users, at))
  }

  async function writeGroups(tx: Tx, tenant: TenantId, directory: string, all: OwnedChanges, at: Date) {
    const made = new Set(all.createdGroups.map((g) => g.group_id))
    const named = [...all.renamedGroups.map((g) => g.before), ...all.added, ...all.removed].map((g) => g.group_id)
    const ids = [...new Set(named)].filter((id) => !made.has(id))
    if ((await lockGroups(tx, tenant, ids)).size !== ids.length)
      throw new RunAgain('another request deleted a group meanwhile')
    const renamed = all.renamedGroups.map((g) => ({ group_id: g.before.group_id, name: g.name }))
    await inChunks(renamed, (groups) =>
      writes.setGroupNamesAside(
        tx,
        tenant,
        groups.map((g) => g.group_id),
      ),
    )
    await inChunks(renamed, (groups) => writes.renameGroups(tx, tenant, groups, at))
    await inChunks(all.createdGroups, (groups) => writes.insertGroups(tx, tenant, directory, groups, at))
  }

  /** Returns the number of added and removed members, in total and by group. */
  async function writeMembers(tx: Tx, tenant: TenantId, { added, removed }: OwnedChanges, at: Date) {
    const byGroup = new Map<string, { added: number; removed: number }>()
    const note = (rows: { group_id: string; n: number }[], what: 'added' | 'removed') => {
      for (const { group_id, n } of rows) {
        const known = byGroup.get(group_id) ?? { added: 0, removed: 0 }
        known[what] += n
        byGroup.set(group_id, known)
      }
    }
    await inChunks(removed, async (pairs) => note(await writes.deleteMembers(tx, tenant, pairs), 'removed'))
    await inChunks(added, async (pairs) => note(await writes.insertMembers(tx, tenant, pairs), 'added'))
    const moved = [...byGroup].map(([group_id, m]) => ({ group_id, n: m.added - m.removed }))
    await inChunks(moved, (groups) => writes.addMemberCounts(tx, tenant, groups, at))
    const sum = (what: 'added' | 'removed') => [...byGroup.values()].reduce((n, m) => n + m[what], 0)
    return { byGroup, added: sum('added'), removed: sum('removed') }
  }

  /** Records an event for each changed user. */
  async function recordUsers(tx: Tx, { source, details }: Cause, all: OwnedChanges) {
    const { createdUsers, changedUsers, deletedUsers = [] } = all
    const eventOf = (operation: string, user: { user_id: string; username: string }, changed = {}) => {
      const user_id = encodeId('user', user.user_id)
      const target = { type: 'user', id: user_id, name: user.username }
      return {
        source,
        kind: 'user.changed',
        fields: { operation, user_id },
        more: { target, changes: changed, details },
      } as const
    }
    await inChunks(deletedUsers, (users) =>
      audit.recordAll(
        tx,
        users.map((u) => eventOf('delete', u)),
      ),
    )
    await inChunks(createdUsers, (users) =>
      audit.recordAll(
        tx,
        users.map((u) => eventOf('create', u)),
      ),
    )
    await inChunks(changedUsers, (users) =>
      audit.recordAll(
        tx,
        users.flatMap(({ before, after }) => {
          const found = recordedChanges(before, after)
          return Object.keys(found).length > 0 ? [eventOf(operationOf(before, after), after, found)] : []
        }),
      ),
    )
  }

  /** Records an event for each changed group. */
  async function recordGroups(
    tx: Tx,
    { source, details }: Cause,
    { createdGroups, renamedGroups }: OwnedChanges,
    byGroup: ReadonlyMap<string, { added: number; removed: number }>,
  ) {
    const names = new Map(createdGroups.map((g) => [g.group_id, { operation: 'create', name: g.name, was: g.name }]))
    for (const { before, name } of renamedGroups)
      names.set(before.group_id, { operation: 'update', name, was: before.name })
    const groups = [...new Set([...names.keys(), ...byGroup.keys()])]
    await inChunks(groups, (ids) =>
      audit.recordAll(
        tx,
        ids.map((id) => {
          const group_id = encodeId('group', id)
          const { operation, name, was } = names.get(id) ?? { operation: 'update', name: null, was: null }
          const { added = 0, removed = 0 } = byGroup.get(id) ?? {}
          const moved = {
            ...(added > 0 && { members_added_count: added }),
            ...(removed > 0 && { members_removed_count: removed }),
          }
          const target = { type: 'group', id: group_id, name }
          const changed = differences({ name: was }, { name })
          return {
            source,
            kind: 'group.changed',
            fields: { operation, group_id },
            more: { target, changes: changed, details: { ...details, ...moved } },
          } as const
        }),
      ),
    )
  }

  /**
   * Applies the changes, ends the sessions of suspended users, and records all events. The caller records the returned
   * changes. Any failure rolls back everything.
   */
  async function apply(tx: Tx, cause: Cause, planned: OwnedChanges) {
    const { source, directory } = cause
    const tenant = source.tenantId
    if (planned.added.length > 0 && !cause.mayAddToGroups)
      fail('forbidden', 'adding members to a group needs the permission groups:write')
    const { deletedUsers = [], offboarded = [], returned = [] } = planned
    const leaving = [...deletedUsers, ...offboarded, ...returned]
    const at = now()
    const granted = cause.places.take(planned.createdUsers.length + balanceOf(planned))
    // From the first lock until commit other transactions wait for these users, so work that needs no lock is done
    // before.
    await recordUsers(tx, cause, planned)
    await hold(tx, tenant, directory, planned)
    const all =
      leaving.length === 0 ? planned : { ...planned, removed: await removedWith(tx, tenant, planned, leaving) }
    await writeUsers(tx, { source, directory, granted }, all, at)
    await writeGroups(tx, tenant, directory, all, at)
    const moved = await writeMembers(tx, tenant, all, at)
    const cut = await offboarding.cutAccess(tx, source, leaving, userDeleted, returned)
    const suspended = all.changedUsers
      .filter(({ before, after }) => before.status === 'active' && after.status === 'suspended')
      .map(({ before }) => before)
    const ended = await offboarding.cutSuspended(tx, source, suspended)
    await recordGroups(tx, cause, all, moved.byGroup)
    return { added: moved.added, removed: moved.removed, touched: touchedBy(all, [...cut.changes, ...ended.changes]) }
  }

  return {
    usersOf: queries.usersOf,
    groupsOf: queries.ownedGroupsOf,
    membersOf: queries.ownedMembersOf,
    takenByOthers: queries.takenByOthers,
    countOf: queries.countOwned,
    /** Queries of single entries of a directory. */
    entries,
    /** Locks and returns the remaining number of users. Taken after the directory's row and before any other lock. */
    holdPlaces: (tx: Tx, tenant: TenantId): Promise<Allowance> => tenancy.entitlements.hold(tx, tenant, 'users'),
    apply,
    deleteAbsent: createAbsence(deps),

    /**
     * Returns those of the users to suspend without whom nobody could administer. Changes of other administrators wait
     * until commit.
     */
    lastAdministrators: async (tx: Tx, tenant: TenantId, users: readonly OwnedUser[]): Promise<Set<string>> => {
      const admins = users.filter((u) => mayBeLast(rolesOf(u)))
      if (admins.length === 0) return new Set()
      await holdAdministrators(tx, tenant)
      const roles = [...new Set(admins.flatMap(rolesOf).filter((role) => mayBeLast([role])))]
      const holders = await selectHolders(tx, tenant, roles)
      const going = new Set(admins.map((u) => u.user_id))
      const last = roles.filter((role) => !holders.some((h) => h.role === role && !going.has(h.user_id)))
      return new Set(admins.filter((u) => rolesOf(u).some((role) => last.includes(role))).map((u) => u.user_id))
    },
  }
}
export type Owned = ReturnType<typeof createOwned>

export const rolesOf = (user: Pick<OwnedUser, 'roles'>): string[] => user.roles?.split(',') ?? []

async function inChunks<T>(list: readonly T[], work: (part: T[]) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < list.length; i += chunk) await work(list.slice(i, i + chunk))
}

/** Returns the differences that the event of a changed user contains. */
export const recordedChanges = (before: OwnedUser, after: UserAfter) => differences(factsOf(before), factsOf(after))
const factsOf = ({ username, email, display_name, status }: Omit<UserAfter, 'user_id'>) => ({
  username,
  email,
  display_name,
  status,
})
const operationOf = (before: OwnedUser, after: UserAfter): string => {
  if (before.status === after.status) return 'update'
  return after.status === 'suspended' ? 'suspend' : 'reactivate'
}
