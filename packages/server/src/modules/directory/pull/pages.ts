import { shortened } from '../../../kernel/text.ts'
import { createSlices } from '../../../kernel/time-slice.ts'
import type { Content } from '../taking.ts'
import { PullError } from './pull-error.ts'

export type PulledUser = { id: string; userName: string; displayName: string; email: string | null; active: boolean }
/** `name` is null where only members changed; `children`: groups of Keycloak below it. */
export type PulledGroup = { id: string; name: string | null; children?: number }
/** Who came into a group and who left it: users, and groups whose members are its members too. */
type Moves = { group: string; add: string[]; remove?: string[]; nest?: string[]; unnest?: string[] }
/** What one answer of a directory said. Later ones change what earlier ones said. */
export type Page = {
  /** A change may name only what is other than before. */
  users?: (Partial<PulledUser> & { id: string })[]
  goneUsers?: string[]
  groups?: PulledGroup[]
  goneGroups?: string[]
  members?: Moves[]
}
/** What of a directory is taken. */
export type Take = {
  take_users: 'all' | 'in_groups'
  take_groups: 'all' | 'none' | 'listed'
  group_names: readonly string[]
}

/** As the contract bounds a snapshot. */
const most = { users: 100_000, groups: 20_000, memberships: 1_000_000 }

const tooMany = (what: keyof typeof most): never => {
  throw new PullError('too_large', `The directory has more than ${most[what].toLocaleString('en')} ${what}.`)
}

export function isWanted({ take_groups, group_names }: Take, name: string): boolean {
  if (take_groups !== 'listed') return take_groups === 'all'
  const text = name.toLowerCase()
  return group_names.some((pattern) => {
    const wanted = pattern.toLowerCase()
    return wanted.endsWith('*') ? text.startsWith(wanted.slice(0, -1)) : text === wanted
  })
}

const nobody = { userName: '', displayName: '', email: null, active: false }
type Group = { name: string | null; users: Set<string>; groups: Set<string> }

/** The directory as its pages say it, one after the other. */
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
  async function add(page: Page): Promise<void> {
    for (const user of page.users ?? []) {
      const known = users.get(user.id)
      // A change of somebody who was not taken names nobody.
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

  /** Users of the group and of all groups within it, however deep; a circle ends where it began. */
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

  /** As a snapshot has it. Members whom the directory does not show (guests, service accounts) are left out. */
  async function content(take: Take): Promise<Content> {
    const named: Content['groups'] = []
    const inGroups = new Set<string>()
    let count = 0
    for (const [id, { name }] of groups) {
      if (name === null || !isWanted(take, name)) continue
      const members: string[] = []
      for (const user of await membersOf(id)) if (users.has(user)) members.push(user)
      for (const user of members) inGroups.add(user)
      count += members.length
      if (count > most.memberships) tooMany('memberships')
      named.push({ externalId: id, displayName: textOf(name, 256), members })
    }
    const taken = [...users.values()].filter(({ id }) => take.take_users === 'all' || inGroups.has(id))
    return {
      users: taken.map(({ id, userName, displayName, email, active }) => ({
        externalId: id,
        userName,
        displayName: textOf(displayName, 256),
        ...(email !== null && { emails: [email] }),
        active,
      })),
      groups: named,
    }
  }

  return { add, content }
}

/** What a directory wrote, as it can be stored and shown: of one line, whole characters, bounded. */
export function textOf(text: string, max: number): string {
  const plain = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
  return shortened(plain, max)
}
