import { randomUUID } from 'node:crypto'
import { type Asked, type Reply, startDirectoryServer } from './directory-server.ts'

type User = {
  id: string
  username: string
  firstName?: string
  lastName?: string
  email?: string
  enabled: boolean
  serviceAccountClientId?: string
}
type Group = { id: string; name: string; path: string; parentId?: string; members: string[] }

export const keycloakClient = { client_id: 'holdfast-sync', secret: 'secret of the sync client' }
const byName = <T extends { username?: string; name?: string }>(a: T, b: T) =>
  (a.username ?? a.name ?? '') < (b.username ?? b.name ?? '') ? -1 : 1

/**
 * A simulation of Keycloak's API for users and groups. recorded/keycloak.test.ts compares it with the recorded answers
 * of a real one.
 */
export async function startKeycloak(t: { after: (end: () => void) => void }) {
  const users = new Map<string, User>()
  const groups = new Map<string, Group>()
  const tokens = new Set<string>()

  const page = <T>(list: T[], { url: { searchParams: q } }: Asked): T[] => {
    const first = Number(q.get('first') ?? 0)
    return list.slice(first, first + Number(q.get('max') ?? 100))
  }
  /** In this view only the name shows that the user is a service account. */
  const viewMember = ({ serviceAccountClientId: _, ...user }: User) => ({
    ...user,
    emailVerified: user.email !== undefined,
  })
  const viewBriefly = (user: User) => ({ ...viewMember(user), access: { manage: false } })
  const viewUser = (user: User) => ({
    ...viewBriefly(user),
    totp: false,
    disableableCredentialTypes: [],
    requiredActions: [],
    notBefore: 0,
  })
  const viewGroup = ({ members: _, ...group }: Group) => ({
    ...group,
    subGroupCount: [...groups.values()].filter((g) => g.parentId === group.id).length,
    subGroups: [],
    access: { view: true, viewMembers: true, manageMembers: false, manage: false, manageMembership: false },
  })
  /** Lists and counts of users leave out service accounts; the members of a group include them. */
  const people = () => [...users.values()].filter((u) => !u.serviceAccountClientId).sort(byName)

  function answer(asked: Asked): Reply {
    const { pathname } = asked.url
    if (pathname === '/realms/people/protocol/openid-connect/token') return token(asked)
    const authorization = String(asked.headers.authorization ?? '')
    if (!tokens.has(authorization.replace(/^Bearer /, '')))
      return { status: 401, json: { error: 'HTTP 401 Unauthorized' } }
    const path = pathname.replace('/admin/realms/people/', '')
    if (path === 'users') {
      const isBrief = asked.url.searchParams.get('briefRepresentation') === 'true'
      return { json: page(people(), asked).map(isBrief ? viewBriefly : viewUser) }
    }
    if (path === 'users/count') return { json: people().length }
    if (path === 'groups') {
      const top = [...groups.values()].filter((g) => g.parentId === undefined).sort(byName)
      return { json: page(top, asked).map(viewGroup) }
    }
    if (path === 'groups/count') return { json: { count: groups.size } }
    const [, id = '', what] = /^groups\/([^/]+)\/(children|members)$/.exec(path) ?? []
    const group = groups.get(id)
    if (!group) return { status: 404, json: { error: 'Could not find group by id' } }
    if (what === 'children') {
      const children = [...groups.values()].filter((g) => g.parentId === id).sort(byName)
      return { json: page(children, asked).map(viewGroup) }
    }
    const members = group.members.flatMap((m) => users.get(m) ?? []).sort(byName)
    return { json: page(members, asked).map(viewMember) }
  }
  function token({ form }: Asked): Reply {
    if (form.get('client_id') !== keycloakClient.client_id || form.get('client_secret') !== keycloakClient.secret)
      return {
        status: 401,
        json: { error: 'unauthorized_client', error_description: 'Invalid client or Invalid client credentials' },
      }
    const access_token = randomUUID()
    tokens.add(access_token)
    return {
      json: {
        access_token,
        expires_in: 300,
        refresh_expires_in: 0,
        token_type: 'Bearer',
        'not-before-policy': 0,
        scope: 'email profile',
      },
    }
  }

  const server = await startDirectoryServer(t, answer)
  const addUser = (username: string, more: Partial<User> = {}): string => {
    const id = more.id ?? randomUUID()
    const name = { firstName: username[0]?.toUpperCase() + username.slice(1), lastName: 'Person' }
    const person = { ...name, email: `${username}@example.com` }
    users.set(id, { id, username, ...(more.serviceAccountClientId ? {} : person), enabled: true, ...more })
    return id
  }
  return {
    ...server,
    issuer: `${server.origin}/realms/people`,
    users,
    groups,
    tokens,
    addUser,
    addUsers: (n: number, from = 0) =>
      Array.from({ length: n }, (_, i) => addUser(`person${String(from + i).padStart(5, '0')}`)),
    addGroup: (path: string, members: string[] = []): string => {
      const at = path.lastIndexOf('/')
      const parent = [...groups.values()].find((g) => g.path === path.slice(0, at))
      const id = randomUUID()
      groups.set(id, { id, name: path.slice(at + 1), path, ...(parent && { parentId: parent.id }), members })
      return id
    },
  }
}
