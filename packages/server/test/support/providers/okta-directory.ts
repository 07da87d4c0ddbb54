import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createLocalJWKSet, exportJWK, jwtVerify } from 'jose'
import { type Asked, type Reply, startDirectoryServer } from './directory-server.ts'

type User = { id: string; status: string; profile: Record<string, string | null> }
type Group = { id: string; type: 'OKTA_GROUP' | 'BUILT_IN'; profile: { name: string; description: null } }

const idOf = (name: string) => `00${createHash('sha256').update(name).digest('hex').slice(0, 18)}`
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Okta's lists of users and groups (`Link`, `limit`), and its tokens for service apps that prove a private key. */
export async function startOkta(t: { after: (end: () => void) => void }) {
  const users = new Map<string, User>()
  const groups = new Map<string, Group & { members: string[] }>()
  const tokens = new Set<string>()
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const clientId = '0oa1example'
  const kid = 'key-1'
  const jwks = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'RS256' }] })

  /** A page of a list; a header links to the next page. */
  function page(list: unknown[], { url }: Asked): Reply {
    const limit = Number(url.searchParams.get('limit'))
    const from = Number(url.searchParams.get('after') ?? 0)
    const links = [`<${url.href}>; rel="self"`]
    const next = new URL(url)
    next.searchParams.set('after', String(from + limit))
    if (from + limit < list.length) links.push(`<${next.href}>; rel="next"`)
    return { json: list.slice(from, from + limit), headers: { link: links.join(', ') } }
  }
  async function answer(asked: Asked): Promise<Reply> {
    const { pathname } = asked.url
    if (pathname === '/oauth2/v1/token') return token(asked)
    const bearer = String(asked.headers.authorization ?? '').replace(/^Bearer /, '')
    if (!tokens.has(bearer))
      return { status: 401, json: { errorCode: 'E0000011', errorSummary: 'Invalid token provided' } }
    const here = [...users.values()].filter((u) => u.status !== 'DEPROVISIONED')
    if (pathname === '/api/v1/users') return page(here, asked)
    if (pathname === '/api/v1/groups')
      return page(
        [...groups.values()].map(({ members: _, ...g }) => g),
        asked,
      )
    const [, id = ''] = /^\/api\/v1\/groups\/([^/]+)\/users$/.exec(pathname) ?? []
    const group = groups.get(id)
    if (!group) return { status: 404, json: { errorCode: 'E0000007', errorSummary: 'Not found' } }
    return page(
      group.members.flatMap((m) => users.get(m) ?? []),
      asked,
    )
  }
  async function token({ form, url }: Asked): Promise<Reply> {
    const refused = {
      status: 401,
      json: { error: 'invalid_client', error_description: 'The client_assertion is invalid.' },
    }
    if (form.get('client_assertion_type') !== assertionType) return refused
    const options = { issuer: clientId, subject: clientId, audience: url.href }
    const { payload } = await jwtVerify(form.get('client_assertion') ?? '', jwks, options).catch(() => ({
      payload: null,
    }))
    if (!payload?.jti || (payload.exp ?? 0) - (payload.iat ?? 0) > 3600) return refused
    if (form.get('scope') !== 'okta.users.read okta.groups.read')
      return { status: 400, json: { error: 'invalid_scope', error_description: 'One or more scopes are not allowed.' } }
    const access_token = randomUUID()
    tokens.add(access_token)
    return { json: { token_type: 'Bearer', expires_in: 3600, access_token, scope: form.get('scope') } }
  }

  const server = await startDirectoryServer(t, answer)
  return {
    ...server,
    clientId,
    /** The private key as an Okta administrator copies it: a JWK, or PEM. */
    jwk: JSON.stringify({ ...(await exportJWK(privateKey)), kid }),
    pem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    users,
    addUser: (login: string, status = 'ACTIVE'): string => {
      const id = idOf(login)
      const profile = { login, email: login, firstName: 'Ada', lastName: login.split('@')[0]!, displayName: null }
      users.set(id, { id, status, profile })
      return id
    },
    addGroup: (name: string, members: string[], type: Group['type'] = 'OKTA_GROUP'): string => {
      const id = idOf(`group ${name}`)
      groups.set(id, { id, type, profile: { name, description: null }, members })
      return id
    },
  }
}
