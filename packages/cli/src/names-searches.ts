import type { Noun } from '@holdfast/contract/vocabulary'
import type { Client } from '@holdfast/sdk'
import { walk } from './pages.ts'

/** A possible meaning of a name. `ended`: it counts only if nothing else has the name. */
export type Candidate = { id: string; names: readonly (string | null)[]; ended?: boolean }
export type Search = {
  find: (client: Client, name: string, scope: object) => AsyncGenerator<Candidate>
  /** Verb for the name in an error message; default `called`. */
  by?: string
  /** Noun in an error message; default its own. */
  word?: string
}

export const sameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/** Returns the candidates with the name. Ended ones count only if there are no others. */
export async function having(name: string, candidates: AsyncIterable<Candidate>): Promise<Candidate[]> {
  const fits = new Map<string, Candidate>()
  for await (const candidate of candidates)
    if (candidate.names.some((one) => one !== null && sameName(one, name))) fits.set(candidate.id, candidate)
  const living = [...fits.values()].filter(({ ended }) => !ended)
  return living.length > 0 ? living : [...fits.values()]
}

/** Look-ups by name for each noun: by the list's prefix search if it has one, else by reading the whole list. */
export const searches: Partial<Record<Noun, Search>> = {
  tenant: {
    find: (c, q, scope) =>
      walk(
        (page) => c.listTenants({ query: { q, ...page, ...scope } }),
        (t) => ({ id: t.tenant_id, names: [t.name] }),
      ),
  },
  siem_connector: {
    find: (c, _name, scope) =>
      walk(
        (page) => c.listSiemConnectors({ query: { ...page, ...scope } }),
        (s) => ({ id: s.connector_id, names: [s.name] }),
      ),
  },
  view: {
    find: (c, _name, scope) =>
      walk(
        (page) => c.listViews({ query: { ...page, ...scope } }),
        (v) => ({ id: v.view_id, names: [v.name] }),
      ),
    word: 'saved view',
  },
  policy_draft: {
    find: (c, _name, scope) =>
      walk(
        (page) => c.listPolicyDrafts({ query: { ...page, ...scope } }),
        (d) => ({ id: d.draft_id, names: [d.name] }),
      ),
  },
  plan: {
    find: (c, _name, scope) =>
      walk(
        (page) => c.listPlans({ query: { ...page, ...scope } }),
        (p) => ({ id: p.plan_id, names: [p.name] }),
      ),
  },
  user: { find: users },
  group: {
    find: (c, q, scope) =>
      walk(
        (page) => c.listGroups({ query: { q, ...page, ...scope } }),
        (g) => ({ id: g.group_id, names: [g.name] }),
      ),
  },
  device: { find: devices },
  enrollment_token: {
    find: (c, q, scope) =>
      walk(
        (page) => c.listTokens({ query: { q, ...page, ...scope } }),
        (t) => ({ id: t.token_id, names: [t.name], ended: t.status !== 'active' }),
      ),
  },
  api_key: {
    find: (c, _name, scope) =>
      walk(
        (page) => c.listApiKeys({ query: { ...page, ...scope } }),
        (k) => ({ id: k.key_id, names: [k.name], ended: k.status !== 'active' }),
      ),
  },
  gateway_pool: {
    find: (c, _name, scope) =>
      walk(
        (page) => c.listGatewayPools({ query: { ...page, ...scope } }),
        (p) => ({ id: p.pool_id, names: [p.name] }),
      ),
  },
  gateway: {
    find: (c, q, scope) =>
      walk(
        (page) => c.listAllGateways({ query: { q, ...page, ...scope } }),
        (g) => ({ id: g.gateway_id, names: [g.name] }),
      ),
  },
  identity_provider: {
    find: (c, _name, scope) =>
      walk(
        (page) => c.listIdentityProviders({ query: { ...page, ...scope } }),
        (p) => ({ id: p.provider_id, names: [p.name] }),
      ),
  },
  directory_source: {
    find: (c, _name, scope) =>
      walk(
        (page) => c.listDirectorySources({ query: { ...page, ...scope } }),
        (s) => ({ id: s.source_id, names: [s.provider] }),
      ),
  },
  release: {
    by: 'of version',
    find: (c, _version, scope) =>
      walk(
        (page) => c.listReleases({ query: { ...page, ...scope } }),
        (r) => ({ id: r.release_id, names: [r.version] }),
      ),
  },
  policy_bundle: {
    by: 'of version or channel',
    find: (c, _version, scope) =>
      walk(
        (page) => c.listPolicyBundles({ query: { ...page, ...scope } }),
        (b) => ({ id: b.bundle_id, names: [String(b.version), b.current ? b.channel : null] }),
      ),
  },
  vpn_session: {
    word: 'active VPN session',
    by: 'of a device called',
    find: (c, name, scope) =>
      ofEach(devices(c, name, scope), name, (device_id) =>
        walk(
          (page) => c.listSessions({ query: { device_id, state: 'active', ...page, ...scope } }),
          (s) => ({ id: s.session_id, names: [name] }),
        ),
      ),
  },
  admin_session: {
    by: 'of a user called',
    find: (c, name, scope) =>
      ofEach(users(c, name, scope), name, (user_id) =>
        walk(
          (page) => c.listAdminSessions({ query: { user_id, ...page, ...scope } }),
          (s) => ({ id: s.session_id, names: [name] }),
        ),
      ),
  },
  spc: {
    word: 'SPC',
    by: 'of a device called',
    find: (c, name, scope) =>
      ofEach(devices(c, name, scope), name, (device_id) =>
        walk(
          (page) => c.listSpcs({ query: { device_id, ...page, ...scope } }),
          (s) => ({ id: s.spc_id, names: [name], ended: s.status !== 'active' }),
        ),
      ),
  },
  lock: {
    by: 'of anything called',
    find: (c, _name, scope) =>
      walk(
        (page) => c.listLocks({ query: { status: 'all', ...page, ...scope } }),
        (l) => ({ id: l.lock_id, names: [l.target.name], ended: l.status !== 'active' }),
      ),
  },
  legal_hold: {
    by: 'about anything called',
    find: (c, _name, scope) =>
      walk(
        (page) => c.listLegalHolds({ query: { ...page, ...scope } }),
        (h) => ({ id: h.legal_hold_id, names: [h.subject_name], ended: h.released_at !== null }),
      ),
  },
}

/** Commands that show the ids of things without names. */
export const listedBy: Partial<Record<Noun, string>> = {
  audit_event: 'audit list',
  directory_run: 'directory runs',
  notification: 'notification list',
  package: 'release packages',
  signer: 'signer list',
  workflow_run: 'workflow runs',
}

function users(client: Client, q: string, scope: object): AsyncGenerator<Candidate> {
  return walk(
    (page) => client.listUsers({ query: { q, ...page, ...scope } }),
    (u) => ({ id: u.user_id, names: [u.username, u.email] }),
  )
}

/** The name of a revoked device may be reused. */
function devices(client: Client, q: string, scope: object): AsyncGenerator<Candidate> {
  return walk(
    (page) => client.listDevices({ query: { q, ...page, ...scope } }),
    (d) => ({ id: d.device_id, names: [d.name], ended: d.status === 'revoked' }),
  )
}

/** Yields the items of each owner with the name. */
async function* ofEach(
  owners: AsyncIterable<Candidate>,
  name: string,
  find: (owner: string) => AsyncIterable<Candidate>,
): AsyncGenerator<Candidate> {
  for (const { id } of await having(name, owners)) yield* find(id)
}
