import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { type Change, everything } from '../../../replication/changes.ts'
import { membershipsOf } from '../people/end-access.queries.ts'
import type { NewGroup, NewUser, Pair, UserAfter } from './apply.queries.ts'
import type { OwnedGroup, OwnedUser } from './owned.queries.ts'

/** Planned changes of a directory to its own users and groups. */
export type OwnedChanges = {
  createdUsers: readonly NewUser[]
  changedUsers: readonly { before: OwnedUser; after: UserAfter }[]
  createdGroups: readonly NewGroup[]
  renamedGroups: readonly { before: OwnedGroup; name: string }[]
  added: readonly Pair[]
  removed: readonly Pair[]
  /** Users of the directory to delete for good, since another entry has their external id now. */
  deletedUsers?: readonly OwnedUser[]
  /** Users that their directory deletes. They lose everything that they were given. */
  offboarded?: readonly OwnedUser[]
  /**
   * Users that their directory had deleted and names again. They lose everything that they were given, and their links
   * to accounts at providers.
   */
  returned?: readonly OwnedUser[]
}
/** Limit of individual change records. Beyond it, one record says that every user may have changed. */
const mostTold = 5000

/**
 * Returns the changes that replicas and gateways must apply. New users have no device, session or key, so they are left
 * out.
 */
export function touchedBy(all: OwnedChanges, ended: readonly Change[]): Change[] {
  const { changedUsers, createdUsers, added, removed, deletedUsers = [], offboarded = [] } = all
  const made = new Set(createdUsers.map((u) => u.user_id))
  const moved = [...added, ...removed].map((p) => p.user_id).filter((id) => !made.has(id))
  const named = [...changedUsers.map(({ before }) => before), ...deletedUsers, ...offboarded]
  const users = new Set([...named.map((u) => u.user_id), ...moved])
  if (users.size + ended.length > mostTold) return [{ kind: 'user', subject: everything }]
  return [...[...users].map((subject) => ({ kind: 'user', subject }) as const), ...ended]
}

/** Returns the memberships that end, with all memberships of leaving users, in any group. */
export async function removedWith(tx: Tx, tenant: TenantId, { removed }: OwnedChanges, leaving: readonly OwnedUser[]) {
  const ids = new Set(leaving.map((u) => u.user_id))
  const memberships = await membershipsOf(tx, tenant, [...ids])
  return [...removed.filter((pair) => !ids.has(pair.user_id)), ...memberships]
}

/** Returns the number of existing users that become active, minus those that are suspended. */
export function balanceOf({ changedUsers }: OwnedChanges): number {
  const weigh = (status: string) => (status === 'active' ? 1 : 0)
  return changedUsers.reduce((n, { before, after }) => n + weigh(after.status) - weigh(before.status), 0)
}
