import { shortened } from '../../../kernel/text.ts'
import { createSlices } from '../../../kernel/time-slice.ts'
import type { SnapshotContent } from '../apply-run.ts'
import { PullError } from './pull-error.ts'

export type PulledUser = { id: string; userName: string; displayName: string; email: string | null; active: boolean }
/** `name` is null if only members changed. `children`: number of subgroups (Keycloak). */
export type PulledGroup = { id: string; name: string | null; children?: number }
/** Users added to and removed from a group; `nest` and `unnest` are groups whose members count as members. */
type Moves = { group: string; add: string[]; remove?: string[]; nest?: string[]; unnest?: string[] }
/** Content of one answer of a directory. Later pages update earlier ones. */
export type DirectoryPage = {
  /** A change may contain only the modified fields. */
  users?: (Partial<PulledUser> & { id: string })[]
  goneUsers?: string[]
  groups?: PulledGroup[]
  goneGroups?: string[]
  members?: Moves[]
}
/** Parts of a directory to be imported. */
export type Take = {
  take_users: 'all' | 'in_groups'
  take_groups: 'all' | 'none' | 'listed'
  group_names: readonly string[]
}

/** The limits of a snapshot in the API. */
const most = { users: 100_000, groups: 20_000, memberships: 1_000_000 }

const tooMany = (what: keyof typeof most): never => {
  throw new PullError('too_large', `The directory has more than ${most[what].toLocaleString('en')} ${what}.`)
}

export function isWanted({ take_groups, group_names }: Take, name: string): boolean {
  if (take_groups !== 'listed') return take_groups === 'all'
  const text = name.toLowerCase()
  return group_names.some((pattern) => {
    const lowerPattern = pattern.toLowerCase()
    return lowerPattern.endsWith('*') ? text.startsWith(lowerPattern.slice(0, -1)) : text === lowerPattern
  })
}

const nobody = { userName: '', displayName: '', email: null, active: false }
type Group = { name: string | null; users: Set<string>; groups: Set<string> }

/** Merges pages in order to the content of the directory. */
export function createFold() {
  const slices = createSlices()
  const users = new Map<string, PulledUser>()
  const groups = new Map<string, Group>()
  let memberships = 0

  const groupOf = (id: string): Group => {
    const known = groups.get(id) ?? { name: null, users: new Set(), groups: new Set() }
    groups.set(id, known)
    return known
  }
  async function add(page: DirectoryPage): Promise<void> {
    for (const user of page.users ?? []) {
      const known = users.get(user.id)
      // A change without a name for an unknown user, such as a guest, is ignored.
      if (known || user.userName !== undefined) users.set(user.id, { ...(known ?? nobody), ...user })
    }
    for (const id of page.goneUsers ?? []) users.delete(id)
    for (const { id, name } of page.groups ?? []) {
      const group = groupOf(id)
      group.name = name ?? group.name
    }
    for (const id of page.goneGroups ?? []) groups.delete(id)
    for (const { group: id, add: came, remove = [], nest = [], unnest = [] } of page.members ?? []) {
      const group = groupOf(id)
      for (const user of came) group.users.add(user)
      for (const user of remove) group.users.delete(user)
      for (const inner of nest) group.groups.add(inner)
      for (const inner of unnest) group.groups.delete(inner)
      memberships += came.length
    }
    if (users.size > most.users) tooMany('users')
    if (groups.size > most.groups) tooMany('groups')
    if (memberships > 2 * most.memberships) tooMany('memberships')
    if (slices.isOver()) await slices.next()
  }

  /** Users of the group and of all nested groups. Cycles end at groups already visited. */
  async function membersOf(id: string): Promise<Set<string>> {
    const members = new Set<string>()
    const seen = new Set([id])
    for (const each of seen) {
      const group = groups.get(each)
      for (const user of group?.users ?? []) members.add(user)
      for (const inner of group?.groups ?? []) seen.add(inner)
      if (slices.isOver()) await slices.next()
    }
    return members
  }

  /** Content in the form of a snapshot. Members missing among the users (guests, service accounts) are left out. */
  async function content(take: Take): Promise<SnapshotContent> {
    const named: SnapshotContent['groups'] = []
    const inGroups = new Set<string>()
    let count = 0
    for (const [id, { name }] of groups) {
      if (name === null || !isWanted(take, name)) continue
      const members: string[] = []
      for (const user of await membersOf(id)) if (users.has(user)) members.push(user)
      for (const user of members) inGroups.add(user)
      count += members.length
      if (count > most.memberships) tooMany('memberships')
      named.push({ externalId: id, displayName: directoryText(name, 256), members })
    }
    const taken = [...users.values()].filter(({ id }) => take.take_users === 'all' || inGroups.has(id))
    return {
      users: taken.map(({ id, userName, displayName, email, active }) => ({
        externalId: id,
        userName,
        displayName: directoryText(displayName, 256),
        ...(email !== null && { emails: [email] }),
        active,
      })),
      groups: named,
    }
  }

  return { add, content }
}

/** Text of a directory in storable form: one line, well-formed, limited in length. */
export function directoryText(text: string, max: number): string {
  const plain = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
  return shortened(plain, max)
}
