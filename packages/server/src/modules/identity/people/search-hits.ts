import type { SearchAction } from '@holdfast/contract/vocabulary'
import { joinDetail, type StoredSource } from '../../../db/search.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { findGroups, findUsers } from './search-hits.queries.ts'
import { accountOf, isOneself, isStronger } from './subject.ts'

type UserHit = Awaited<ReturnType<typeof findUsers>>[number]

/** Search hits of users, found by username, display name and email address. */
const createUserHits = ({ now }: { now: () => Date }): StoredSource => ({
  kind: 'user',
  noun: 'user',
  find: async (tx, actor, ids) => {
    const at = now()
    return (await findUsers(tx, actor.tenantId, ids)).map((user) => {
      const isLocked = user.locked_until !== null && user.locked_until > at
      return {
        id: user.user_id,
        name: user.username,
        detail: joinDetail(user.display_name !== user.username && user.display_name, user.email),
        status: user.status === 'active' && isLocked ? 'locked' : user.status,
        allows: allowedOn(actor, user, isLocked),
      }
    })
  },
})

/**
 * Returns the allowed actions by the rules of the operations: nobody stops a user with more permissions, or lifts a
 * limit of their own account.
 */
function allowedOn(actor: Actor, user: UserHit, isLocked: boolean): SearchAction[] {
  if (isStronger(actor, user)) return []
  const isSuspended = user.status === 'suspended'
  const lifts: SearchAction[] = [
    ...(isSuspended ? ['reactivate' as const] : []),
    ...(isLocked ? ['unlock' as const] : []),
  ]
  return [
    ...(isSuspended ? [] : (['suspend'] as const)),
    ...(isOneself(actor, user.user_id) ? [] : lifts),
    ...(accountOf(actor) === user.user_id ? [] : (['compromised_user'] as const)),
  ]
}

const groupHits: StoredSource = {
  kind: 'group',
  noun: 'group',
  find: async (tx, { tenantId }, ids) =>
    (await findGroups(tx, tenantId, ids)).map(({ group_id, name, member_count: members }) => ({
      id: group_id,
      name,
      detail: `${members} ${members === 1 ? 'member' : 'members'}`,
      status: null,
      allows: [],
    })),
}

export const createPeopleHits = (deps: { now: () => Date }) => [createUserHits(deps), groupHits]
