import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { type Change, everything } from '../../../memory/changes.ts'
import { membershipsOf } from '../people/end-access.queries.ts'
import type { NewGroup, NewUser, Pair, UserAfter } from './apply.queries.ts'
import type { OwnedGroup, OwnedUser } from './owned.queries.ts'

/** What a directory changes of its own users and groups, worked out from what was read. */
export type OwnedChanges = {
  createdUsers: readonly NewUser[]
  changedUsers: readonly { before: OwnedUser; after: UserAfter }[]
  createdGroups: readonly NewGroup[]
  renamedGroups: readonly { before: OwnedGroup; name: string }[]
  added: readonly Pair[]
  removed: readonly Pair[]
  /** Users of the directory who are deleted for good: somebody else has their external id now. */
  deletedUsers?: readonly OwnedUser[]
  /** Users who keep nothing that they were given: their directory deletes them. */
  offboarded?: readonly OwnedUser[]
  /** Users whom their directory had deleted: they keep nothing, nor their links to accounts at providers. */
  returned?: readonly OwnedUser[]
}
/** Changes that are told one by one; of more it is told that every user may have changed. */
const mostTold = 5000

/** What replicas and gateways must look at again. Who is new has no device, no session and no key. */
export function touchedBy(all: OwnedChanges, ended: readonly Change[]): Change[] {
  const { changedUsers, createdUsers, added, removed, deletedUsers = [], offboarded = [] } = all
  const made = new Set(createdUsers.map((u) => u.user_id))
  const moved = [...added, ...removed].map((p) => p.user_id).filter((id) => !made.has(id))
  const named = [...changedUsers.map(({ before }) => before), ...deletedUsers, ...offboarded]
  const users = new Set([...named.map((u) => u.user_id), ...moved])
  if (users.size + ended.length > mostTold) return [{ kind: 'user', subject: everything }]
  return [...[...users].map((subject) => ({ kind: 'user', subject }) as const), ...ended]
}

/** The memberships that end, those of users who leave included, whatever group they are in. */
export async function removedWith(tx: Tx, tenant: TenantId, { removed }: OwnedChanges, leaving: readonly OwnedUser[]) {
  const ids = new Set(leaving.map((u) => u.user_id))
  const theirs = await membershipsOf(tx, tenant, [...ids])
  return [...removed.filter((pair) => !ids.has(pair.user_id)), ...theirs]
}

/** How many of those who were there become active, less those who are suspended. */
export function balanceOf({ changedUsers }: OwnedChanges): number {
  const weigh = (status: string) => (status === 'active' ? 1 : 0)
  return changedUsers.reduce((n, { before, after }) => n + weigh(after.status) - weigh(before.status), 0)
}
