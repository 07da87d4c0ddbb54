import { idPrefixes, type Noun } from '@holdfast/contract/vocabulary'
import type { Client } from '@holdfast/sdk'
import { UsageError } from './exit.ts'
import type { Page } from './output.ts'
import { plain } from './text.ts'

/** Which fields of an input hold ids, and of what. What may hold other people's words is not looked into. */
const nounOfField: Record<string, Noun> = {
  tenant_id: 'tenant',
  plan_id: 'plan',
  user_id: 'user',
  members: 'user',
  add_members: 'user',
  remove_members: 'user',
  group_id: 'group',
  group_ids: 'group',
  device_id: 'device',
  device_ids: 'device',
  token_id: 'enrollment_token',
  key_id: 'api_key',
  pool_id: 'gateway_pool',
  gateway_id: 'gateway',
  bundle_id: 'policy_bundle',
  provider_id: 'identity_provider',
  source_id: 'directory_source',
  release_id: 'release',
  connector_id: 'siem_connector',
}
const opaque = new Set(['root', 'policy', 'facts', 'reason', 'note', 'users', 'groups'])
const mostPages = 50

type Candidate = { id: string; names: readonly (string | null)[] }
type Search = (client: Client, name: string, scope: object) => AsyncGenerator<Candidate>

/** How each noun is looked up by name: by the list's prefix search where it has one, else by walking the list. */
const searches: Partial<Record<Noun, Search>> = {
  tenant: (c, q, scope) =>
    walk(
      (page) => c.listTenants({ query: { q, ...page, ...scope } }),
      (t) => ({ id: t.tenant_id, names: [t.name] }),
    ),
  siem_connector: (c, _name, scope) =>
    walk(
      (page) => c.listSiemConnectors({ query: { ...page, ...scope } }),
      (s) => ({ id: s.connector_id, names: [s.name] }),
    ),
  plan: (c, _name, scope) =>
    walk(
      (page) => c.listPlans({ query: { ...page, ...scope } }),
      (p) => ({ id: p.plan_id, names: [p.name] }),
    ),
  user: (c, q, scope) =>
    walk(
      (page) => c.listUsers({ query: { q, ...page, ...scope } }),
      (u) => ({ id: u.user_id, names: [u.username, u.email] }),
    ),
  group: (c, q, scope) =>
    walk(
      (page) => c.listGroups({ query: { q, ...page, ...scope } }),
      (g) => ({ id: g.group_id, names: [g.name] }),
    ),
  device: (c, q, scope) =>
    walk(
      (page) => c.listDevices({ query: { q, ...page, ...scope } }),
      (d) => ({ id: d.device_id, names: [d.name] }),
    ),
  enrollment_token: (c, q, scope) =>
    walk(
      (page) => c.listTokens({ query: { q, ...page, ...scope } }),
      (t) => ({ id: t.token_id, names: [t.name] }),
    ),
  api_key: (c, _name, scope) =>
    walk(
      (page) => c.listApiKeys({ query: { status: 'active', ...page, ...scope } }),
      (k) => ({ id: k.key_id, names: [k.name] }),
    ),
  gateway_pool: pools,
  gateway: async function* (c, name, scope) {
    for await (const { id: pool_id } of pools(c, name, scope))
      yield* walk(
        (page) => c.listGateways({ params: { pool_id }, query: { ...page, ...scope } }),
        (g) => ({ id: g.gateway_id, names: [g.name] }),
      )
  },
  identity_provider: (c, _name, scope) =>
    walk(
      (page) => c.listIdentityProviders({ query: { ...page, ...scope } }),
      (p) => ({ id: p.provider_id, names: [p.name] }),
    ),
  directory_source: (c, _name, scope) =>
    walk(
      (page) => c.listDirectorySources({ query: { ...page, ...scope } }),
      (s) => ({ id: s.source_id, names: [s.provider] }),
    ),
  release: (c, _version, scope) =>
    walk(
      (page) => c.listReleases({ query: { ...page, ...scope } }),
      (r) => ({ id: r.release_id, names: [r.version] }),
    ),
  policy_bundle: (c, _version, scope) =>
    walk(
      (page) => c.listPolicyBundles({ query: { ...page, ...scope } }),
      (b) => ({ id: b.bundle_id, names: [String(b.version), b.current ? b.channel : null] }),
    ),
}

function pools(client: Client, _name: string, scope: object): AsyncGenerator<Candidate> {
  return walk(
    (page) => client.listGatewayPools({ query: { ...page, ...scope } }),
    (p) => ({ id: p.pool_id, names: [p.name] }),
  )
}

async function* walk<T>(
  ask: (page: { limit: number; cursor?: string }) => Promise<Page<T>>,
  view: (item: T) => Candidate,
): AsyncGenerator<Candidate> {
  let cursor: string | null = null
  for (let n = 0; n < mostPages; n++) {
    const page: Page<T> = await ask({ limit: 200, ...(cursor !== null && { cursor }) })
    for (const item of page.items) yield view(item)
    cursor = page.next_cursor
    if (cursor === null) return
  }
}

/**
 * The same client, which takes names where ids are asked: `jane` for a user, `12` or `stable` for a policy version.
 * What looks like an id is sent as it is.
 */
export function withNames(client: Client, scope: () => { tenant_id?: string }): Client {
  const known = new Map<string, Promise<string>>()
  const idOf = (noun: Noun, text: string): string | Promise<string> => {
    const search = searches[noun]
    if (!search || text.startsWith(`${idPrefixes[noun]}_`)) return text
    const found = known.get(`${noun} ${text}`) ?? lookUp(noun, text, search)
    known.set(`${noun} ${text}`, found)
    return found
  }
  const lookUp = async (noun: Noun, text: string, search: Search): Promise<string> => {
    const fits: string[] = []
    const wanted = text.toLowerCase()
    // A tenant, which may be that of the scope itself, is looked for among all of them.
    const within = noun === 'tenant' ? {} : ((await resolve('', scope())) as object)
    for await (const { id, names } of search(client, text, within))
      if (names.some((name) => name?.toLowerCase() === wanted)) fits.push(id)
    const [id, second] = fits
    const word = noun.replaceAll('_', ' ')
    if (id === undefined) throw new UsageError(`There is no ${word} called ${plain(text)}.`)
    if (second !== undefined)
      throw new UsageError(
        `${fits.length} of them are called ${plain(text)}; take an id: ${fits.slice(0, 5).join(', ')}.`,
      )
    return id
  }
  const resolve = async (field: string, value: unknown): Promise<unknown> => {
    if (field === 'target') return resolveTarget(value)
    const noun = nounOfField[field]
    if (noun && typeof value === 'string') return idOf(noun, value)
    if (Array.isArray(value)) return Promise.all(value.map((each) => resolve(field, each)))
    if (typeof value !== 'object' || value === null || opaque.has(field)) return value
    // Bytes on their way.
    if (Symbol.asyncIterator in value) return value
    const entries = Object.entries(value).map(async ([name, inner]) => [name, await resolve(name, inner)] as const)
    return Object.fromEntries(await Promise.all(entries))
  }
  /** The noun of a lock's target stands beside it. */
  const resolveTarget = async (target: unknown): Promise<unknown> => {
    const { type, id } = (target ?? {}) as { type?: Noun; id?: unknown }
    return type && typeof id === 'string' ? { type, id: await idOf(type, id) } : target
  }
  type Call = (input?: unknown, options?: unknown) => unknown
  const named = (Object.entries(client) as [string, Call][]).map(([operation, call]) => [
    operation,
    async (input?: unknown, options?: unknown) => call(await resolve('', input), options),
  ])
  return Object.fromEntries(named) as Client
}
