import type { IdentityProviderKind } from '@holdfast/contract/vocabulary'
import { storable } from '../../../kernel/text.ts'
import { FederationError } from '../proven.ts'
import { entraTenantOf, type OidcProvider } from './presets.ts'

/** Of an assertion of Entra ID, which then holds no groups. */
const groupsElsewhere = 'http://schemas.microsoft.com/claims/groups.link'

type Claims = Readonly<Record<string, unknown>>
const maxSubject = 255
const maxGroups = 5000
const maxGroupLength = 1024

/** Claims are named by administrators, so `constructor` and its like are looked for as any other name. */
const claimOf = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined)
const isRecord = (value: unknown): value is Claims => typeof value === 'object' && value !== null

/**
 * What a person is known by at their provider, and nothing that they or others may change: `sub`, and for Entra ID the
 * id of the object in the very tenant that the issuer names, where `sub` is another one for each application. A text
 * that the database could only keep altered might become somebody else's, so it is refused.
 */
export function subjectOf({ kind, issuer }: Pick<OidcProvider, 'kind' | 'issuer'>, claims: Claims): string {
  if (kind === 'entra_id' && (claimOf(claims, 'tid') ?? '') !== entraTenantOf(issuer))
    throw new FederationError('subject', 'The token is of another tenant of Entra ID.')
  const name = kind === 'entra_id' ? 'oid' : 'sub'
  const subject = claimOf(claims, name)
  if (typeof subject !== 'string' || subject === '' || storable(subject, maxSubject) !== subject)
    throw new FederationError('subject', `The claim ${name} is no text of 1 to ${maxSubject} characters.`)
  return subject
}

/** What the provider calls its own session, where it says so in a way that can be kept. */
export function sidOf(claims: Claims): string | null {
  const sid = claimOf(claims, 'sid')
  return typeof sid === 'string' && sid !== '' && storable(sid, maxSubject) === sid ? sid : null
}

/**
 * The groups in a claim; undefined where the token says nothing of them. What is too much, cut off or of another shape
 * is no statement to act on, since a group too few or too many may decide what somebody can reach.
 */
export function groupsOf(kind: IdentityProviderKind, claims: Claims, claimName: string): readonly string[] | undefined {
  const refuse = (message: string): never => {
    throw new FederationError('groups', message)
  }
  const elsewhere = claimOf(claims, '_claim_names')
  const isOverage =
    (isRecord(elsewhere) && Object.hasOwn(elsewhere, claimName)) ||
    (kind === 'saml' && Object.hasOwn(claims, groupsElsewhere)) ||
    (kind === 'entra_id' && claimName === 'groups' && (claimOf(claims, 'hasgroups') ?? false) !== false)
  if (isOverage) refuse('The person is in more groups than the token holds; let the provider send fewer of them.')
  const value = claimOf(claims, claimName) ?? undefined
  if (value === undefined) return undefined
  const list: unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > maxGroups) refuse(`The groups in the token are more than ${maxGroups}.`)
  const groups = list.map((group) => {
    if (typeof group !== 'string') return refuse('The claim of groups is neither a text nor a list of texts.')
    if (group.length > maxGroupLength)
      return refuse(`A group in the token is longer than ${maxGroupLength} characters.`)
    return storable(group, maxGroupLength)
  })
  return [...new Set(groups.filter((group) => group !== ''))]
}
