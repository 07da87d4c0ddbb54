import type { PullProgress } from '../../../db/tables/directory.ts'
import { type Ask, answerFields, idIn, listOf, wordsIn } from './asking.ts'
import { type DirectoryPage, directoryText, isWanted, type PulledGroup, type PulledUser } from './pages.ts'
import { PullError } from './pull-error.ts'
import type { At, DirectoryAccess, PulledSoFar, PullStep, Vendor } from './vendor.ts'

/** `group`: index in the groups read so far. `first` and `last`: position and last ID at which a list continues. */
type Cursor = {
  phase: 'count' | 'users' | 'recount' | 'groups' | 'children' | 'members' | 'regroup'
  users: number
  groups: number
  group: number
  first: number
  last: string | null
  tries: number
}
const start = { group: 0, first: 0, last: null } as const
const begin = (tries: number): Cursor => ({ phase: 'count', users: 0, groups: 0, ...start, tries })

/** Entries per page. Each page but the first repeats the last entry of the previous one. */
const perPage = 100
const membersPerPage = 500
/** Maximum number of attempts if the directory changes while it is read. */
const mostTries = 3

const adminOf = (issuer: string): string => issuer.replace(/\/realms\/([^/]+)$/, '/admin/realms/$1')

/**
 * Keycloak pages its lists by position, which shifts when entries are added or removed. Each page therefore begins with
 * the last entry of the previous one, and users and groups are counted before and after. After a mismatch the reading
 * starts over.
 */
export function createKeycloak(problemOf: Vendor['problemOf']): Vendor {
  async function step(
    ask: Ask,
    { issuer }: Pick<DirectoryAccess, 'issuer'>,
    { cursor, take, seen, progress }: At & { cursor: Cursor },
  ): Promise<PullStep & { cursor: Cursor | null }> {
    const base = adminOf(issuer)
    const again = (why: string) => {
      if (cursor.tries + 1 >= mostTries)
        throw new PullError('unstable', `${why} during each of ${mostTries} attempts to read the directory.`)
      return { page: {}, cursor: begin(cursor.tries + 1), again: why }
    }
    const countGroups = async () => countIn(answerFields((await ask(`${base}/groups/count`, 'Groups')).json).count)
    /** Reads a page of a list. Undefined if it does not follow the previous page. */
    async function list(path: string, what: string, size: number) {
      const from = cursor.last === null ? cursor.first : cursor.first - 1
      const { json } = await ask(`${base}/${path}first=${from}&max=${cursor.last === null ? size : size + 1}`, what)
      const entries = listOf(json, what).map(answerFields)
      const ids = entries.map((entry) => idIn(entry, what))
      if (cursor.last !== null && ids[0] !== cursor.last) return undefined
      const skipped = cursor.last === null ? 0 : 1
      const next = { first: cursor.first + entries.length - skipped, last: ids.at(-1) ?? null }
      return { entries: entries.slice(skipped), next: entries.length - skipped < size ? null : next }
    }

    switch (cursor.phase) {
      case 'count': {
        const users = countIn((await ask(`${base}/users/count`, 'Users')).json)
        const groups = take.take_groups === 'none' ? 0 : await countGroups()
        progress.users.of = users
        progress.groups.of = groups
        return { page: {}, cursor: { ...cursor, phase: 'users', users, groups } }
      }
      case 'users': {
        const found = await list('users?briefRepresentation=false&', 'Users', perPage)
        const users = found?.entries.filter((entry) => !isServiceAccount(entry)).map(userOf) ?? []
        if (!found || users.some((u) => seen.users.has(u.id))) return again('The list of users changed')
        const cursorNext = found.next
          ? { ...cursor, ...found.next }
          : { ...cursor, ...start, phase: 'recount' as const }
        return { page: { users }, cursor: cursorNext }
      }
      case 'recount': {
        const users = countIn((await ask(`${base}/users/count`, 'Users')).json)
        if (users !== cursor.users) return again('The number of users changed')
        return { page: {}, cursor: take.take_groups === 'none' ? null : { ...cursor, phase: 'groups' } }
      }
      case 'groups': {
        const found = await list('groups?briefRepresentation=true&', 'Groups', perPage)
        const groups = found?.entries.map(groupOf) ?? []
        if (!found || groups.some((g) => seen.groupIds.has(g.id))) return again('The list of groups changed')
        const cursorNext = found.next
          ? { ...cursor, ...found.next }
          : { ...cursor, ...start, phase: 'children' as const }
        return { page: { groups }, cursor: cursorNext }
      }
      case 'children': {
        const parent = nextOf(seen, cursor.group, ({ children }) => (children ?? 0) > 0)
        if (!parent) return { page: {}, cursor: { ...cursor, ...start, phase: 'members' } }
        const path = `groups/${encodeURIComponent(parent.id)}/children?briefRepresentation=true&`
        const found = await list(path, 'Groups', perPage)
        const groups = found?.entries.map(groupOf) ?? []
        if (!found || groups.some((g) => seen.groupIds.has(g.id))) return again('The list of groups changed')
        const at = { ...cursor, group: parent.place }
        return { page: { groups }, cursor: found.next ? { ...at, ...found.next } : past(at) }
      }
      case 'members': {
        const group = nextOf(seen, cursor.group, ({ name }) => name !== null && isWanted(take, name))
        if (!group) return { page: {}, cursor: { ...cursor, ...start, phase: 'regroup' } }
        const path = `groups/${encodeURIComponent(group.id)}/members?briefRepresentation=true&`
        const found = await list(path, 'Members of groups', membersPerPage)
        if (!found) return again('The members of a group changed')
        const page: DirectoryPage = {
          members: [{ group: group.id, add: found.entries.map((m) => idIn(m, 'Members')) }],
        }
        const at = { ...cursor, group: group.place }
        return { page, cursor: found.next ? { ...at, ...found.next } : past(at) }
      }
      case 'regroup': {
        if ((await countGroups()) !== cursor.groups) return again('The number of groups changed')
        return { page: {}, cursor: null }
      }
    }
  }

  return {
    problemOf,
    originOf: (issuer) => new URL(issuer).origin,
    tokenOf: ({ issuer, clientId, credential }) => ({
      url: `${issuer}/protocol/openid-connect/token`,
      form: { grant_type: 'client_credentials', client_id: clientId, client_secret: credential },
    }),
    begin: () => begin(0),
    step: async (ask, place, at) => {
      const cursor = at.cursor as Cursor
      const done = await step(ask, place, { ...at, cursor })
      at.progress.phase = phaseOf((done.cursor ?? cursor).phase)
      return done
    },
    look: async (ask, { issuer }) => {
      const base = adminOf(issuer)
      const users = countIn((await ask(`${base}/users/count`, 'Users')).json)
      const { json } = await ask(`${base}/users?briefRepresentation=true&first=0&max=5`, 'Users')
      const groups = countIn(answerFields((await ask(`${base}/groups/count`, 'Groups')).json).count)
      return { users, groups, some_users: listOf(json, 'Users').map((u) => userOf(answerFields(u)).userName) }
    },
  }
}

const phaseOf = (phase: Cursor['phase']): PullProgress['phase'] => {
  if (phase === 'members') return 'members'
  return phase === 'groups' || phase === 'children' || phase === 'regroup' ? 'groups' : 'users'
}
const past = (cursor: Cursor): Cursor => ({ ...cursor, ...start, group: cursor.group + 1 })

/** The next matching group from an index on, with its own index. */
function nextOf({ groups }: PulledSoFar, from: number, fits: (group: PulledGroup) => boolean) {
  for (let place = from; place < groups.length; place++) {
    const group = groups[place]!
    if (fits(group)) return { ...group, place }
  }
  return undefined
}

function countIn(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new PullError('answer', 'The directory did not answer with a count of users or groups.')
}

const isServiceAccount = (user: Readonly<Record<string, unknown>>): boolean =>
  wordsIn(user.serviceAccountClientId) !== undefined || (wordsIn(user.username) ?? '').startsWith('service-account-')

function userOf(user: Readonly<Record<string, unknown>>): PulledUser {
  const email = wordsIn(user.email)
  const names = [wordsIn(user.firstName), wordsIn(user.lastName)].filter(Boolean).join(' ')
  return {
    id: idIn(user, 'Users'),
    userName: directoryText(wordsIn(user.username) ?? '', 256),
    displayName: directoryText(names, 256),
    email: email ? directoryText(email, 254) : null,
    active: user.enabled === true,
  }
}

/** A group is identified by its id, and named by its path, as in Keycloak's tokens. */
function groupOf(group: Readonly<Record<string, unknown>>): PulledGroup {
  const children = typeof group.subGroupCount === 'number' ? group.subGroupCount : 0
  return {
    id: idIn(group, 'Groups'),
    name: directoryText(wordsIn(group.path) ?? `/${wordsIn(group.name) ?? ''}`, 256),
    children,
  }
}
