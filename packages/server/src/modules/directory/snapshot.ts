import type { DirectorySnapshot, Problem } from '@holdfast/contract/directory'
import { failField } from '../../kernel/app-error.ts'
import { hasControls, oneLine } from '../../kernel/text.ts'
import { createSlices } from '../../kernel/time-slice.ts'
import { canonicalEmail, newUsername } from '../identity/index.ts'

/** A user in a directory; unusable values are undefined. */
export type SaidUser = {
  externalId: string
  username: string | undefined
  displayName: string
  email: string | null | undefined
  active: boolean
}
/**
 * Members are indexes in the list of users. A group whose external ID is refused has no name, so that it is not
 * created.
 */
export type SaidGroup = { externalId: string; name: string | undefined; members: ReadonlySet<number> }
/** A whole directory from any source: a pushed snapshot, or the merged pages of a pull. */
export type Said = { users: readonly SaidUser[]; groups: readonly SaidGroup[]; problems: readonly Problem[] }

/** Checks a snapshot for consistency and normalizes names. Throws 422 with the position of a duplicate. */
export async function readSnapshot({ users, groups }: Pick<DirectorySnapshot, 'users' | 'groups'>): Promise<Said> {
  const slices = createSlices()
  const problems: Problem[] = []
  const places = new Map<string, number>()
  const nameAt = new Map<string, number>()
  const snapshotUsers: SaidUser[] = []
  for (const [i, user] of users.entries()) {
    if (slices.isOver()) await slices.next()
    const { externalId, active = true } = user
    const displayName = oneLine(user.displayName ?? '')
    requireNew(places, externalId, `users[${i}].externalId`, i)
    const external_id = oneLine(externalId)
    const isRefused = refusesExternalId(externalId, problems)
    const { name, problem } = newUsername(user.userName)
    if (name === undefined) problems.push({ problem: 'username_refused', external_id, detail: `userName ${problem}` })
    else requireNew(nameAt, name, `users[${i}].userName`, i)
    const email = emailOf(user.emails?.[0])
    if (email === undefined)
      problems.push({
        problem: 'email_refused',
        external_id,
        detail: 'the first entry of emails is not a mail address',
      })
    snapshotUsers.push({ externalId, username: isRefused ? undefined : name, displayName, email, active })
  }

  const groupAt = new Map<string, number>()
  const members: Set<number>[] = []
  const names: (string | undefined)[] = []
  for (const [i, group] of groups.entries()) {
    requireNew(groupAt, group.externalId, `groups[${i}].externalId`, i)
    names.push(refusesExternalId(group.externalId, problems) ? undefined : oneLine(group.displayName))
    const its = new Set<number>()
    let unknown = 0
    for (const id of group.members) {
      if (slices.isOver()) await slices.next()
      const place = places.get(id)
      if (place === undefined) unknown++
      else its.add(place)
    }
    members.push(its)
    if (unknown > 0)
      problems.push({
        problem: 'unknown_member',
        external_id: oneLine(group.externalId),
        detail: `${unknown} of the members of "${oneLine(group.displayName)}" are not users of the snapshot`,
      })
  }
  for (const [i, user] of users.entries()) {
    if (slices.isOver()) await slices.next()
    for (const id of user.groups ?? []) {
      const place = groupAt.get(id)
      if (place !== undefined) members[place]?.add(i)
      else
        problems.push({
          problem: 'unknown_group',
          external_id: oneLine(user.externalId),
          detail: 'the user is in a group that is not in the snapshot',
        })
    }
  }
  return {
    users: snapshotUsers,
    groups: groups.map((g, i) => ({
      externalId: g.externalId,
      name: names[i],
      members: members[i] ?? new Set(),
    })),
    problems,
  }
}

/** SCIM refuses such an ID with 400. In a snapshot the entry is skipped, and a stored entry keeps its name. */
function refusesExternalId(externalId: string, problems: Problem[]): boolean {
  if (!hasControls(externalId, false)) return false
  const detail = 'externalId must not contain control characters, line breaks or text-direction characters'
  problems.push({ problem: 'external_id_refused', external_id: oneLine(externalId), detail })
  return true
}

function requireNew(known: Map<string, number>, name: string, field: string, place: number): void {
  const before = known.get(name)
  if (before !== undefined) failField(field, `is the same as that of entry ${before} of the list`)
  known.set(name, place)
}

/** Null if there is no address, undefined if it is invalid. */
function emailOf(text: string | undefined): string | null | undefined {
  if (text === undefined) return null
  return /^[^@\s]+@[^@\s]+$/.test(text) ? canonicalEmail(text) : undefined
}
