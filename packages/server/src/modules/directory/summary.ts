import { type DiffItem, diffChanges, type RunCounts } from '@holdfast/contract/directory'
import type { OwnedUser, UserAfter } from '../identity/index.ts'
import type { Before, Plan } from './plan.ts'

/** Number of listed changes of each kind. */
const sampled = 25

const kindOf = (before: OwnedUser, after: UserAfter): DiffItem['change'] | undefined => {
  if (before.status === 'active' && after.status === 'suspended') return 'user_suspended'
  if (before.status === 'suspended' && after.status === 'active') return 'user_reactivated'
  return namesOf(before, after).length > 0 ? 'user_updated' : undefined
}
const namesOf = (before: OwnedUser, after: UserAfter): string[] => [
  ...(before.username === after.username ? [] : [`userName ${before.username} -> ${after.username}`]),
  ...(before.email === after.email ? [] : [`mail ${before.email ?? 'none'} -> ${after.email ?? 'none'}`]),
  ...(before.display_name === after.display_name
    ? []
    : [`displayName ${before.display_name} -> ${after.display_name}`]),
]

/** Counts the changes of a plan, and lists some of them. */
export function summaryOf({ changes, moved }: Plan, before: Before): { counts: RunCounts; diff: DiffItem[] } {
  const all = new Map<DiffItem['change'], number>(diffChanges.map((change) => [change, 0]))
  const diff: DiffItem[] = []
  const say = (change: DiffItem['change'], external_id: string, name: string, detail: string | null) => {
    const n = all.get(change) ?? 0
    all.set(change, n + 1)
    if (n < sampled) diff.push({ change, external_id, name, detail })
  }
  const count = (change: DiffItem['change']) => all.get(change) ?? 0

  const replaced = new Map(changes.deletedUsers?.map((user) => [user.external_id, user.username]))
  for (const { external_id, username } of changes.createdUsers) {
    const before = replaced.get(external_id)
    say('user_created', external_id, username, before === undefined ? null : `replaces the deleted user ${before}`)
  }
  for (const user of changes.changedUsers) {
    const kind = kindOf(user.before, user.after)
    const what = namesOf(user.before, user.after).join(', ')
    if (kind) say(kind, user.before.external_id, user.after.username, what === '' ? null : what)
  }
  for (const group of changes.createdGroups) say('group_created', group.external_id, group.name, null)
  for (const { before: was, name } of changes.renamedGroups)
    say('group_updated', was.external_id, name, `displayName ${was.name}`)
  const renamed = new Set(changes.renamedGroups.map((g) => g.before.group_id))
  let rest = 0
  for (const { group, name, had, added, removed } of moved) {
    const id = group.said?.externalId ?? group.before?.external_id ?? ''
    const detail = `${had} members, +${added} -${removed}`
    if (!group.said) say('group_emptied', id, name, detail)
    else if (group.before) {
      say('group_members_changed', id, name, detail)
      if (!renamed.has(group.id)) rest++
    }
  }
  const changedUsers = count('user_updated') + count('user_suspended') + count('user_reactivated')
  const updatedGroups = count('group_updated') + rest
  return {
    counts: {
      users: {
        created: count('user_created'),
        updated: count('user_updated'),
        suspended: count('user_suspended'),
        reactivated: count('user_reactivated'),
        unchanged: before.users.length - changedUsers - replaced.size,
      },
      groups: {
        created: count('group_created'),
        updated: updatedGroups,
        emptied: count('group_emptied'),
        unchanged: before.groups.length - updatedGroups - count('group_emptied'),
      },
      memberships: { added: changes.added.length, removed: changes.removed.length },
    },
    diff,
  }
}

export const isNothing = ({ users, groups, memberships }: RunCounts): boolean =>
  users.created + users.updated + users.suspended + users.reactivated === 0 &&
  groups.created + groups.updated + groups.emptied === 0 &&
  memberships.added + memberships.removed === 0
