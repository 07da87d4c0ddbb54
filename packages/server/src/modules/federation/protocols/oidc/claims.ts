import type { IdentityProviderKind } from '@holdfast/contract/vocabulary'
import { storable } from '../../../../kernel/text.ts'
import { FederationError } from '../proven-identity.ts'
import { entraTenantOf, type OidcProvider } from './presets.ts'

/** Claim that Entra ID puts into an assertion instead of the groups. */
const groupsElsewhere = 'http://schemas.microsoft.com/claims/groups.link'

type Claims = Readonly<Record<string, unknown>>
const maxSubject = 255
const maxGroups = 5000
const maxGroupLength = 1024

/** Administrators name the claims, so names such as `constructor` must not find inherited properties. */
const claimOf = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined)
const isRecord = (value: unknown): value is Claims => typeof value === 'object' && value !== null

/**
 * Returns the stable subject of a person at the provider, which neither they nor others can change: `sub`. For Entra
 * ID, whose `sub` differs for each application, it is the object id in the tenant that the issuer names. A text that
 * the database can store only in an altered form is refused: it might equal another person's.
 */
export function subjectClaimOf({ kind, issuer }: Pick<OidcProvider, 'kind' | 'issuer'>, claims: Claims): string {
  if (kind === 'entra_id' && (claimOf(claims, 'tid') ?? '') !== entraTenantOf(issuer))
    throw new FederationError('subject', 'The token was issued by another tenant of Entra ID.')
  const name = kind === 'entra_id' ? 'oid' : 'sub'
  const subject = claimOf(claims, name)
  if (typeof subject !== 'string' || subject === '' || storable(subject, maxSubject) !== subject)
    throw new FederationError('subject', `The claim ${name} is not a string of 1 to ${maxSubject} characters.`)
  return subject
}

/** Returns the provider's id of its own session (`sid`), or null if it is absent or cannot be stored. */
export function sidOf(claims: Claims): string | null {
  const sid = claimOf(claims, 'sid')
  return typeof sid === 'string' && sid !== '' && storable(sid, maxSubject) === sid ? sid : null
}

/**
 * Returns the groups in a claim; undefined if the token has none. A claim that is too long, incomplete (overage) or of
 * another type is refused, since a missing or extra group may change a person's access.
 */
export function groupsClaimOf(
  kind: IdentityProviderKind,
  claims: Claims,
  claimName: string,
): readonly string[] | undefined {
  const refuse = (message: string): never => {
    throw new FederationError('groups', message)
  }
  const elsewhere = claimOf(claims, '_claim_names')
  const isOverage =
    (isRecord(elsewhere) && Object.hasOwn(elsewhere, claimName)) ||
    (kind === 'saml' && Object.hasOwn(claims, groupsElsewhere)) ||
    (kind === 'entra_id' && claimName === 'groups' && (claimOf(claims, 'hasgroups') ?? false) !== false)
  if (isOverage)
    refuse('The user is in more groups than a token can contain: configure the provider to send fewer groups.')
  const value = claimOf(claims, claimName) ?? undefined
  if (value === undefined) return undefined
  const list: unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > maxGroups)
    refuse(`The token has more than ${maxGroups} groups: configure the provider to send fewer groups.`)
  const groups = list.map((group) => {
    if (typeof group !== 'string') return refuse('The claim with the groups is neither a string nor a list of strings.')
    if (group.length > maxGroupLength)
      return refuse(`A group in the token is longer than ${maxGroupLength} characters.`)
    return storable(group, maxGroupLength)
  })
  return [...new Set(groups.filter((group) => group !== ''))]
}
