import type { HeldReason } from '@holdfast/contract/directory'
import type { Before, Plan } from './plan.ts'
import type { Said } from './snapshot.ts'

/** Limits for users removed by one run without confirmation: this number or this share of all, whichever is greater. */
const fewUsers = 5
const shareOfUsers = 0.1
/** Groups up to this size may lose all members. */
const smallGroup = 5
const listed = 20

/** Number of active users who may be removed, and number of members that a group may lose. */
export const mostUsers = (active: number): number => Math.max(fewUsers, Math.floor(active * shareOfUsers))
export const mostMembers = (had: number): number => (had > smallGroup ? Math.floor(had / 2) : Number.POSITIVE_INFINITY)

/** Reasons why a plan looks like a mistake of the directory. Empty if it does not. */
export function heldReasons(snapshot: Pick<Said, 'users'>, before: Before, { changes, moved }: Plan): HeldReason[] {
  const active = before.users.filter((u) => u.status === 'active').length
  const suspended = changes.changedUsers.filter((u) => u.before.status === 'active' && u.after.status === 'suspended')
  const deleted = (changes.deletedUsers ?? []).filter((u) => u.status === 'active')
  const removed = suspended.length + deleted.length
  const most = mostUsers(active)
  const reasons: HeldReason[] = []
  if (snapshot.users.length === 0 && active > 0)
    reasons.push({ rule: 'empty_snapshot', removed, of: active, most: 0, group: null })
  if (removed > most) reasons.push({ rule: 'users_removed', removed, of: active, most, group: null })
  for (const { name, had, removed: left } of moved)
    if (left > mostMembers(had))
      reasons.push({ rule: 'group_shrunk', removed: left, of: had, most: mostMembers(had), group: name })
  return reasons.slice(0, listed)
}
