import type { IdentityProviderKind, SamlPreset } from '@holdfast/contract/vocabulary'
import { failField } from '../../../kernel/app-error.ts'
import { defaultScopes } from '../protocols/oidc/presets.ts'
import { FederationError } from '../protocols/proven-identity.ts'
import type { ProviderFields, ProviderRow } from './providers.queries.ts'

type ClaimNames = ProviderFields['claims']
type Oidc = NonNullable<ProviderFields['oidc']>
export type GivenOidc = Partial<Oidc> & Pick<Oidc, 'issuer' | 'client_id'>

const claimsOfOidc: ClaimNames = {
  username: 'preferred_username',
  email: 'email',
  display_name: 'name',
  groups: 'groups',
}
/** Attribute names for products without names of their own; an administrator sets them up at the provider. */
const plainAttributes: ClaimNames = {
  username: 'username',
  email: 'email',
  display_name: 'displayName',
  groups: 'groups',
}
const attributesOf: Readonly<Record<SamlPreset, ClaimNames>> = {
  generic: plainAttributes,
  keycloak: plainAttributes,
  okta: plainAttributes,
  entra_id: {
    username: 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name',
    email: 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
    display_name: 'http://schemas.microsoft.com/identity/claims/displayname',
    groups: 'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups',
  },
}

/** Default names of the claims for a kind of provider. */
export const defaultClaimsOf = (kind: IdentityProviderKind, preset: SamlPreset = 'generic'): ClaimNames =>
  kind === 'saml' ? attributesOf[preset] : claimsOfOidc

/** Checks that a provider has the settings of its kind and no others. */
export function requireKind<O, S>(
  kind: IdentityProviderKind,
  { oidc, saml }: { oidc?: O | null | undefined; saml?: S | null | undefined },
): { oidc: O; saml: null } | { oidc: null; saml: S } {
  if (kind === 'saml') {
    if (oidc) failField('oidc', 'is not allowed for a provider of kind saml')
    return { oidc: null, saml: saml ?? failField('saml', 'is required for a provider of kind saml') }
  }
  if (saml) failField('saml', 'is allowed only for a provider of kind saml')
  return { oidc: oidc ?? failField('oidc', `is required for a provider of kind ${kind}`), saml: null }
}

/** Returns the settings of a provider of OpenID Connect. Throws FederationError for one of SAML. */
export function oidcOf({ kind, oidc }: Pick<ProviderRow, 'kind' | 'oidc'>) {
  if (kind === 'saml' || !oidc) throw new FederationError('client', 'The provider does not support OpenID Connect.')
  return { kind, ...oidc }
}
export const withDefaults = (kind: Exclude<IdentityProviderKind, 'saml'>, given: GivenOidc): Oidc => ({
  scopes: [...defaultScopes[kind]],
  mobile_client_ids: [],
  device_code: 'off',
  ...given,
})

/** Settings of a SAML identity provider: those set by hand, else those read from its metadata. */
export const idpOf = ({ saml, saml_found }: Pick<ProviderRow, 'saml' | 'saml_found'>) => saml?.idp ?? saml_found

/** Issuer of the accounts of a provider. Undefined while the metadata of a SAML provider have not been read. */
export const providerIssuer = (provider: Pick<ProviderRow, 'oidc' | 'saml' | 'saml_found'>): string | undefined =>
  provider.oidc?.issuer ?? idpOf(provider)?.entity_id
