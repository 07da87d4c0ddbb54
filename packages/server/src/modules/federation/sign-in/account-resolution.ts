import { RunAgain, type Tx } from '../../../db/database.ts'
import type { Source, TenantId } from '../../../kernel/actor.ts'
import type { Allowance } from '../../../kernel/allowance.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { FederationDeps } from '../deps.ts'
import { groupsClaimOf } from '../protocols/oidc/claims.ts'
import type { ProvenIdentity } from '../protocols/proven-identity.ts'
import { providerIssuer } from '../providers/kinds.ts'
import * as links from '../providers/links.queries.ts'
import { holdProvider, type ProviderRow } from '../providers/providers.queries.ts'

/** Reason why a person that a provider proved has no user here. */
export type UnresolvedAccount =
  | 'turned_off'
  | 'provider_changed'
  | 'not_linked'
  | 'no_username'
  | 'username_refused'
  | 'username_taken'
  | 'no_place_left'
  | 'not_admitted'
  | 'replayed'
  | 'signed_out'
type Evidence = { provider: ProviderRow; proven: ProvenIdentity; said: ReturnType<typeof mappedBy> }
/** Purpose of the proof: a test that the provider allows it, and whether it is a sign-in. */
type Purpose = { allows: (held: ProviderRow) => boolean; isSignIn: boolean }

/**
 * Finds the user of a person that a provider vouches for, or makes one if the provider may. Applies the groups and
 * roles that the provider decides. Runs in the caller's transaction. Throws `Refused`.
 */
export const createAccountResolution =
  ({ people, now }: Pick<FederationDeps, 'people' | 'now'>) =>
  async (tx: Tx, by: Source, { provider, proven, said }: Evidence, { allows, isSignIn }: Purpose) => {
    const tenant = by.tenantId
    const voucher = { id: provider.provider_id, name: provider.name }
    const source = { ...by, ...partyOf(provider) }
    const account = accountOf(provider, proven)
    const mayBeNew = provider.provisioning === 'create' && !(await links.findLink(tx, tenant, account))
    const places = mayBeNew ? await people.holdPlaces(tx, tenant) : undefined
    await people.hold(tx, by, said.roles.decides)
    const held = (await holdProvider(tx, tenant, provider.provider_id)) ?? refuseWith('turned_off')
    if (!held.enabled || !allows(held) || providerIssuer(held) !== proven.issuer) refuseWith('turned_off')
    // Groups, roles and terms were read before the provider was asked. A change since then must not be ignored.
    if (held.updated_at.getTime() !== provider.updated_at.getTime()) refuseWith('provider_changed')
    const at = now()
    const known = await links.findLink(tx, tenant, account)
    const { user_id: userId, provisioned } =
      known ?? (await provision(tx, source, people, { provider, proven, places }))
    const username = await people.admit(tx, tenant, userId, isSignIn)
    if (username === undefined) throw new RefusedSignIn('not_admitted', await people.nameOf(tx, tenant, userId))
    const isFollowed = provisioned && (await people.follow(tx, source, userId, said, voucher))
    const isLinked = !known
      ? await link(tx, tenant, userId, account, { linkedAt: at, signedInAt: isSignIn ? at : null })
      : isSignIn
        ? await links.useLink(tx, tenant, userId, account, at)
        : await links.holdLink(tx, tenant, userId, account)
    if (!isLinked) refuseWith('not_linked')
    return { userId, username, isNew: !known, isMoved: !known || isFollowed }
  }

/** Returns the groups and roles that a provider states, among those that it decides. Throws FederationError. */
export function mappedBy({ claims, group_mappings, role_mappings, kind }: ProviderRow, proven: ProvenIdentity) {
  // Absent groups change nothing if the provider could not be asked for them.
  const isUnknown = proven.unknown?.includes(claims.groups) === true
  const decides = !isUnknown && group_mappings.length + role_mappings.length > 0
  // If the provider was asked and states no groups, there are none: Okta leaves an empty claim out.
  const values = new Set(decides ? groupsClaimOf(kind, proven.claims, claims.groups) : [])
  const said = <T extends string>(list: readonly { value: string; to: T }[]) => ({
    decides: isUnknown ? [] : [...new Set(list.map((m) => m.to))],
    says: new Set<string>(list.filter((m) => values.has(m.value)).map((m) => m.to)),
  })
  return {
    groups: said(group_mappings.map(({ value, group_id: to }) => ({ value, to }))),
    roles: said(role_mappings.map(({ value, role: to }) => ({ value, to }))),
  }
}

/** Makes a user for an account that is not linked, if the provider may. */
async function provision(
  tx: Tx,
  source: Source,
  people: FederationDeps['people'],
  { provider, proven, places }: Pick<Evidence, 'provider' | 'proven'> & { places: Allowance | undefined },
) {
  if (provider.provisioning !== 'create') return refuseWith('not_linked')
  if (!places) throw new RunAgain('the link of the account was removed meanwhile')
  const { username, email, display_name } = provider.claims
  const named = (name: string) => claimIn(proven, name)
  const profile = { username: named(username), email: named(email), displayName: named(display_name) }
  const made = await people.provision(tx, source, profile, { id: provider.provider_id, name: provider.name }, places)
  if (typeof made !== 'string') return { user_id: made.userId, provisioned: true }
  // Of two concurrent first sign-ins the second waits for the username. It then finds the link.
  if (await links.findLink(tx, source.tenantId, accountOf(provider, proven))) throw new RunAgain('linked meanwhile')
  return refuseWith(made)
}

function claimIn({ claims }: ProvenIdentity, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}
/** Username that a provider states for a person; else their subject. */
export const usernameSaid = ({ claims }: ProviderRow, proven: ProvenIdentity): string =>
  claimIn(proven, claims.username) ?? proven.subject

/**
 * Links the account to the new user. If it was linked to another user meanwhile, the transaction runs again without the
 * new user.
 */
async function link(
  tx: Tx,
  tenant: TenantId,
  userId: string,
  account: links.ProviderAccount,
  { linkedAt, signedInAt }: { linkedAt: Date; signedInAt: Date | null },
): Promise<true> {
  const times = { linked_at: linkedAt, last_login_at: signedInAt }
  const row = { ...account, ...times, tenant_id: tenant, user_id: userId, provisioned: true }
  if (await links.insertLink(tx, row)) return true
  throw new RunAgain('the account was linked meanwhile')
}

const accountOf = ({ provider_id }: ProviderRow, { issuer, subject }: ProvenIdentity) => ({
  provider_id,
  issuer,
  subject,
})

export const partyOf = ({ provider_id, name }: Pick<ProviderRow, 'provider_id' | 'name'>) => ({
  type: 'identity_provider' as const,
  id: encodeId('identity_provider', provider_id),
  name,
})

const refuseWith = (reason: UnresolvedAccount): never => {
  throw new RefusedSignIn(reason)
}
/** Rolls the transaction back, with the reason. */
export class RefusedSignIn extends Error {
  readonly reason: UnresolvedAccount
  /** Username of a refused user of this tenant. */
  readonly username: string | undefined
  constructor(reason: UnresolvedAccount, username?: string) {
    super(reason)
    this.reason = reason
    this.username = username
  }
}
