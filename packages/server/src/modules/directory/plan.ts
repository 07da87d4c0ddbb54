import type { Problem } from '@holdfast/contract/directory'
import { newUuid } from '../../kernel/ids.ts'
import { createSlices, inSlices, type Sliced } from '../../kernel/time-slice.ts'
import type { NewGroup, NewUser, OwnedChanges, OwnedGroup, OwnedUser, Pair, UserAfter } from '../identity/index.ts'
import { assignNames, type NameClaim } from './names.ts'
import type { Said, SaidGroup, SaidUser } from './snapshot.ts'

/** Stored state of a directory. The members of a group are concatenated user IDs, 16 bytes each. */
export type Before = {
  users: readonly OwnedUser[]
  groups: readonly OwnedGroup[]
  members: readonly { group_id: string; users: Buffer | null }[]
}
/** Names of users and groups that do not belong to this directory. */
type Taken = { username: ReadonlySet<string>; group: ReadonlySet<string> }
/** Users who must not be changed, and the reason. */
type Frozen = ReadonlyMap<string, 'last_administrator' | 'stronger_user'>

/** A user whom the directory names now or named before. The users that it names now are in its order. */
type Person = {
  said: SaidUser | undefined
  before: OwnedUser | undefined
  id: string
  /** The former owner of this external ID, whom the directory no longer named and who had another name. */
  replaces?: OwnedUser
}
type Group = { said: SaidGroup | undefined; before: OwnedGroup | undefined; id: string }
type MovedGroup = { group: Group; name: string; had: number; added: number; removed: number }
export type Plan = { changes: OwnedChanges; problems: readonly Problem[]; moved: readonly MovedGroup[] }

/** Entries processed between two pauses. */
const step = 1000

function* mapped<T, U>(list: readonly T[], make: (item: T, place: number) => U): Sliced<U[]> {
  const made: U[] = []
  for (const [i, item] of list.entries()) {
    made.push(make(item, i))
    if (i % step === 0) yield
  }
  return made
}

/**
 * Matches the directory's users with the stored ones. An external ID may return under another name after the directory
 * did not name it. It then belongs to a different person: a new user who inherits nothing. Without a readable name the
 * identity is unclear, so the entry counts as not named. `mayReplace` tells whether the former user may be deleted.
 */
export function* peopleOf(
  { users }: Pick<Said, 'users'>,
  before: Pick<Before, 'users'>,
  mayReplace: (user: OwnedUser) => boolean,
): Sliced<Person[]> {
  const known = new Map<string, OwnedUser>()
  for (const [i, user] of before.users.entries()) {
    known.set(user.external_id, user)
    if (i % step === 0) yield
  }
  const people: Person[] = []
  for (const [i, said] of users.entries()) {
    const user = known.get(said.externalId)
    if (user?.absent && said.username === undefined) {
      known.delete(said.externalId)
      people.push({ said: undefined, before: user, id: user.user_id })
      continue
    }
    if (user?.absent && said.username !== undefined && said.username !== user.username && mayReplace(user)) {
      people.push({ said, before: undefined, id: newUuid(), replaces: user })
      continue
    }
    known.delete(said.externalId)
    people.push({ said, before: user, id: user?.user_id ?? newUuid() })
    if (i % step === 0) yield
  }
  for (const user of known.values()) people.push({ said: undefined, before: user, id: user.user_id })
  return people
}
/** True if the directory no longer admits the user. */
export const isToGo = ({ said, before }: Person): boolean => before?.status === 'active' && said?.active !== true

/** New names that other entries may already have. */
export const namesToAsk = (
  people: readonly Person[],
  { groups }: Pick<Said, 'groups'>,
  before: Pick<Before, 'groups'>,
) => {
  const had = new Map(before.groups.map((g) => [g.external_id, g.name]))
  return {
    usernames: people.flatMap(({ said, before: b }) =>
      said?.username && said.username !== b?.username ? [said.username] : [],
    ),
    groups: groups.flatMap((g) => (g.name === undefined || g.name === had.get(g.externalId) ? [] : [g.name])),
  }
}

/** Computes the changes that bring the stored state to the directory's content. */
export async function planOf(
  snapshot: Said,
  before: Before,
  people: readonly Person[],
  { taken, frozen }: { taken: Taken; frozen: Frozen },
): Promise<Plan> {
  const problems: Problem[] = [...snapshot.problems]
  const users = await inSlices(planUsers(people, taken, frozen, problems), createSlices())
  const groups = planGroups(snapshot, before, taken, problems)
  const members = await planMembers(people, groups.all, before, users.known)
  return {
    changes: { ...users.changes, createdGroups: groups.created, renamedGroups: groups.renamed, ...members.pairs },
    problems,
    moved: members.moved,
  }
}

/** Name of an entry whose name now belongs to another entry. */
export const madeRoom = (name: string, id: string) => `${name.slice(0, 240)}~${id.slice(-12)}`

function* planUsers(
  people: readonly Person[],
  taken: Taken,
  frozen: Frozen,
  problems: Problem[],
): Sliced<{
  changes: Pick<OwnedChanges, 'createdUsers' | 'changedUsers' | 'deletedUsers'>
  known: ReadonlySet<number>
}> {
  const isKept = ({ replaces }: Person) => replaces !== undefined && frozen.has(replaces.user_id)
  const isFrozen = (p: Person) => frozen.has(p.id) || isKept(p)
  // A new user who is inactive or has no readable name takes no name.
  const comesIn = ({ said, before }: Person) =>
    before !== undefined || (said?.active === true && said.username !== undefined)
  const usernames = assignNames(
    yield* mapped(people, (p): NameClaim => {
      const has = p.before?.username
      if (isFrozen(p) || !comesIn(p)) return { has, wants: undefined }
      if (!p.said) return { has, wants: undefined, instead: madeRoom(has ?? '', p.id) }
      return { has, wants: p.said.username }
    }),
    taken.username,
  )
  const created: NewUser[] = []
  const changed: { before: OwnedUser; after: UserAfter }[] = []
  const deleted = new Map<string, OwnedUser>()
  const known = new Set<number>()
  for (const [i, person] of people.entries()) {
    if (i % step === 0) yield
    const { said, before, id, replaces } = person
    // The former user stays and has an entry of its own, which reports the problem.
    if (isKept(person)) continue
    const username = usernames.names[i]
    const external_id = said?.externalId ?? before?.external_id ?? ''
    const why = frozen.get(id)
    if (why) {
      known.add(i)
      if (
        isToGo(person) ||
        (said && before && (said.displayName !== before.display_name || said.username !== before.username))
      )
        problems.push({
          problem: why,
          external_id,
          detail: `${before?.username} is not changed: ${frozenBecause[why]}`,
        })
      continue
    }
    if (usernames.refused.has(i))
      problems.push({
        problem: 'username_taken',
        external_id,
        detail: `another user already has the userName ${said?.username}`,
      })
    if (typeof username !== 'string') continue
    if (said) known.add(i)
    // An unreadable address changes nothing; a missing one removes the stored address.
    const email = said?.email === undefined ? (before?.email ?? null) : said.email
    if (!before) {
      created.push({ user_id: id, external_id, username, email, display_name: said?.displayName ?? '' })
      if (replaces) deleted.set(replaces.user_id, replaces)
    } else if (!deleted.has(id)) {
      const after = afterOf(before, said, username, email)
      if (isOther(before, after)) changed.push({ before, after })
    }
  }
  const deletedUsers = [...deleted.values()]
  return { changes: { createdUsers: created, changedUsers: changed, deletedUsers }, known }
}
const frozenBecause = {
  last_administrator: 'the user is the last administrator of this tenant',
  stronger_user: 'the user has permissions that the sender of the snapshot does not have',
} as const

function afterOf(
  before: OwnedUser,
  snapshotUser: SaidUser | undefined,
  username: string,
  email: string | null,
): UserAfter {
  const common = { user_id: before.user_id, username, email, absent: snapshotUser === undefined }
  return {
    ...common,
    display_name: snapshotUser?.displayName ?? before.display_name,
    ...letIn(before, snapshotUser?.active === true),
  }
}
/**
 * A suspension by the directory ends when the directory admits the user again. A suspension by an administrator stays.
 */
export function letIn({ status, suspended_by_directory }: Standing, active: boolean): Standing {
  if (active) return { status: suspended_by_directory ? 'active' : status, suspended_by_directory: false }
  return status === 'suspended'
    ? { status, suspended_by_directory }
    : { status: 'suspended', suspended_by_directory: true }
}
type Standing = Pick<UserAfter, 'status' | 'suspended_by_directory'>
/** The stored state of a user, as a base for changes. */
export const sameAs = ({ roles: _, external_id: __, ...user }: OwnedUser): UserAfter => user
const isOther = (before: OwnedUser, after: UserAfter): boolean =>
  before.username !== after.username ||
  before.email !== after.email ||
  before.display_name !== after.display_name ||
  before.status !== after.status ||
  before.suspended_by_directory !== after.suspended_by_directory ||
  before.absent !== after.absent

function planGroups(snapshot: Said, before: Before, taken: Taken, problems: Problem[]) {
  const known = new Map(before.groups.map((g) => [g.external_id, g]))
  const named = snapshot.groups.map((group): Group => {
    const had = known.get(group.externalId)
    known.delete(group.externalId)
    return { said: group, before: had, id: had?.group_id ?? newUuid() }
  })
  const all = [...named, ...[...known.values()].map((g): Group => ({ said: undefined, before: g, id: g.group_id }))]
  const { names, refused } = assignNames(
    all.map(({ said: s, before: b, id }): NameClaim => {
      if (s) return { has: b?.name, wants: s.name }
      return { has: b?.name, wants: undefined, instead: madeRoom(b?.name ?? '', id) }
    }),
    taken.group,
  )
  const created: NewGroup[] = []
  const renamed: { before: OwnedGroup; name: string }[] = []
  const kept: { group: Group; name: string }[] = []
  for (const [i, group] of all.entries()) {
    const name = names[i]
    const external_id = group.said?.externalId ?? group.before?.external_id ?? ''
    if (refused.has(i))
      problems.push({
        problem: 'group_name_taken',
        external_id,
        detail: `another group already has the name ${group.said?.name}`,
      })
    if (typeof name !== 'string') continue
    kept.push({ group, name })
    if (!group.before) created.push({ group_id: group.id, external_id, name })
    else if (group.before.name !== name) renamed.push({ before: group.before, name })
  }
  return { all: kept, created, renamed }
}

/** Bytes of a UUID in the concatenated members of a group. */
const idBytes = 16

async function planMembers(
  people: readonly Person[],
  groups: readonly { group: Group; name: string }[],
  before: Before,
  known: ReadonlySet<number>,
) {
  const slices = createSlices()
  const placeOf = new Map<string, number>()
  for (const [i, { id }] of people.entries()) {
    placeOf.set(Buffer.from(id.replaceAll('-', ''), 'hex').toString('latin1'), i)
    if (slices.isOver()) await slices.next()
  }
  const membersOf = new Map(before.members.map((m) => [m.group_id, m.users]))
  const added: Pair[] = []
  const removed: Pair[] = []
  const moved: MovedGroup[] = []
  for (const { group, name } of groups) {
    const ids = membersOf.get(group.id)?.toString('latin1') ?? ''
    const had: number[] = []
    let stay = 0
    const [came, went] = [added.length, removed.length]
    for (let at = 0; at < ids.length; at += idBytes) {
      if (slices.isOver()) await slices.next()
      // Members who do not belong to this directory are not changed.
      const place = placeOf.get(ids.slice(at, at + idBytes))
      if (place === undefined) continue
      had.push(place)
      if (group.said?.members.has(place)) stay++
      else removed.push({ group_id: group.id, user_id: people[place]!.id })
    }
    if (group.said && stay < group.said.members.size) {
      const inside = new Set(had)
      for (const place of group.said.members)
        if (!inside.has(place) && known.has(place)) added.push({ group_id: group.id, user_id: people[place]!.id })
    }
    const [plus, minus] = [added.length - came, removed.length - went]
    if (plus + minus > 0) moved.push({ group, name, had: had.length, added: plus, removed: minus })
  }
  return { pairs: { added, removed }, moved }
}
