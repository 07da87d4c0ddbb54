import { isDeepStrictEqual } from 'node:util'
import { namedObjects } from '@holdfast/contract/limits'
import { type Permission, roleNames } from '@holdfast/contract/vocabulary'
import type { Tx } from '../../../db/database.ts'
import { type Actor, permissionsOf } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Change } from '../../../replication/changes.ts'
import { mayHandle } from '../../access/index.ts'
import type { FederationDeps } from '../deps.ts'
import * as links from './links.queries.ts'
import { providerFacts } from './provider-fields.ts'
import type { ProviderFields, ProviderRow } from './providers.queries.ts'

type Widens<V> = (before: V, after: V) => boolean
type EachOf<T> = { [F in keyof T]-?: Widens<T[F]> }
type Settings = ReturnType<typeof providerFacts>

const never = () => false
const differs = (before: unknown, after: unknown) => !isDeepStrictEqual(before, after)
const turnsOn = (before: boolean, after: boolean) => after && !before
const turnsOff = (before: boolean, after: boolean) => before && !after
const grows = (before: number | null, after: number | null) => before !== null && (after === null || after > before)
const looserDeviceCode = ['off', 'approval', 'on']

/** Compares settings of which either side may be null: a provider has the settings of its kind, and keeps its kind. */
const within =
  <T extends object>(each: EachOf<T>) =>
  (before: T | null, after: T | null): boolean => {
    if (before === null || after === null) return before !== after
    return widens(each, before, after)
  }
function widens<T extends object>(each: EachOf<T>, before: T, after: T): boolean {
  for (const field in each) if (each[field](before[field], after[field])) return true
  return false
}

/**
 * Tests for each setting: true if a change lets a provider vouch for more people or otherwise. The name vouches for
 * nobody, and a change that only narrows admits nobody: both give false.
 */
const identitySettings: EachOf<Settings> = {
  name: never,
  enabled: turnsOn,
  sign_in: turnsOn,
  enrollment: turnsOn,
  requires_approval: turnsOff,
  max_devices_per_user: grows,
  provisioning: (before, after) => after === 'create' && before !== after,
  claims: differs,
  group_mappings: differs,
  role_mappings: differs,
  oidc: within<NonNullable<Settings['oidc']>>({
    issuer: differs,
    client_id: differs,
    scopes: differs,
    mobile_client_ids: differs,
    device_code: (before, after) => looserDeviceCode.indexOf(after) > looserDeviceCode.indexOf(before),
  }),
  saml: within<NonNullable<Settings['saml']>>({
    metadata_url: differs,
    idp: differs,
    name_id_format: differs,
    signed_response: turnsOff,
  }),
}

type EndedLink = { user_id: string; username: string; subject: string }
/** Ended links of people with more permissions than the caller. The caller records `changes`. */
export type EndedLinks = { links: readonly EndedLink[]; changes: Change[] }
type Asked = { isNewSecret: boolean; endLinks: boolean }

/**
 * Permission checks for changes of a provider. A change of a provider's proof affects all linked people. So the caller
 * must have all permissions of each linked person, and must be allowed to give each mapped role, group or account.
 */
export function createProviderChangeRules({ people }: Pick<FederationDeps, 'people'>) {
  const need = (actor: Actor, permission: Permission, why: string) => {
    if (!permissionsOf(actor).has(permission)) fail('forbidden', `${why} needs the permission ${permission}`)
  }

  /** 403 unless the caller may give the roles, groups and accounts that the provider gives. */
  function requireMayMap(actor: Actor, before: ProviderFields | undefined, after: ProviderFields): void {
    const all = [...(before ? [before] : []), after]
    const roles = all.flatMap((p) => p.role_mappings)
    if (roles.length > 0) need(actor, 'rbac:write', 'a provider that maps roles')
    const beyond = roles.find((m) => !mayHandle(actor, m.role))
    if (beyond) fail('forbidden', `the role ${beyond.role} has permissions that you do not have`)
    if (all.some((p) => p.group_mappings.length > 0)) need(actor, 'groups:write', 'a provider that maps groups')
    if (after.provisioning === 'create')
      need(actor, 'users:write', 'a provider that creates users (provisioning: create)')
  }

  return {
    /** A new provider has no linked users, since each link names its provider. */
    requireMayMake: (actor: Actor, fields: ProviderFields): void => requireMayMap(actor, undefined, fields),

    /**
     * 403 if the caller may not make this change. The provider's row is locked, so no account is linked meanwhile. With
     * `endLinks` the links of people with more permissions end instead, and are returned.
     */
    settle: async (
      tx: Tx,
      actor: Actor,
      before: ProviderRow,
      after: ProviderFields,
      { isNewSecret, endLinks }: Asked,
    ): Promise<EndedLink[]> => {
      if (!isNewSecret && !widens(identitySettings, providerFacts(before), providerFacts(after))) return []
      requireMayMap(actor, before, after)
      const { tenantId: tenant } = actor
      const { provider_id } = before
      const beyond = roleNames.filter((role) => !mayHandle(actor, role))
      const stronger = beyond.length === 0 ? [] : await links.selectLinkedWithRole(tx, tenant, provider_id, beyond)
      if (stronger.length === 0) return []
      if (!endLinks) {
        const roles = [...new Set(stronger.flatMap((user) => user.roles))].sort()
        fail(
          'forbidden',
          `this changes how users sign in with ${before.name}, and ${stronger.length} of them have roles with permissions that you do not have (${roles.join(', ')}). Ask an administrator with all these permissions, or repeat the request with ?end_links_of_stronger=true, which removes the links of these users to the provider and ends the sessions that it started`,
        )
      }
      const names = new Map(stronger.map((user) => [user.user_id, user.username]))
      const ended = await links.deleteLinksTo(tx, tenant, provider_id, [...names.keys()])
      return ended.map((link) => ({ ...link, username: names.get(link.user_id) ?? '' }))
    },

    /**
     * Ends the sessions that the provider opened by the ended links. Runs after the provider is written, in the order
     * of table locks.
     */
    endSessions: async (tx: Tx, actor: Actor, providerId: string, of: readonly EndedLink[]): Promise<EndedLinks> => ({
      links: of,
      changes: of.length === 0 ? [] : await people.endProviderSessions(tx, actor, providerId, usersOf(of)),
    }),
  }
}

const usersOf = (ended: readonly EndedLink[]) => [...new Set(ended.map((link) => link.user_id))]

/** Ended links for an event and an answer. */
export function viewEnded({ links: ended, changes }: EndedLinks) {
  const users = usersOf(ended)
  return {
    users: users.length,
    links: ended.length,
    sessions: changes.length,
    user_ids: users.slice(0, namedObjects).map((id) => encodeId('user', id)),
  }
}

/** Returns for each ended link the audit event of a manual unlink. */
export const unlinkedEvents = (source: Actor, provider_id: string, { links: ended }: EndedLinks) =>
  ended.map(({ user_id: user, username, subject }) => {
    const user_id = encodeId('user', user)
    return {
      source,
      kind: 'user.changed' as const,
      fields: { operation: 'unlink', user_id },
      more: { target: { type: 'user', id: user_id, name: username }, details: { provider_id, subject } },
    }
  })
