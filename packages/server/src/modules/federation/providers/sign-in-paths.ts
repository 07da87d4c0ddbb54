import type { IdentityProviderKind } from '@holdfast/contract/vocabulary'
import { encodeId } from '../../../kernel/ids.ts'

/** A provider that a sign-in page offers. */
export type Offered = { provider_id: string; name: string; kind: IdentityProviderKind }

/** The tenant that is left out of addresses. */
export const plainTenant = 'default'
export const ofTenant = (name: string): string =>
  name === plainTenant ? '' : `?${new URLSearchParams({ tenant: name })}`

/** Returns the path where a sign-in with this provider begins. */
export function pathTo({ provider_id, kind }: Omit<Offered, 'name'>, tenantName: string, next?: string): string {
  const query = new URLSearchParams({ provider: encodeId('identity_provider', provider_id) })
  if (tenantName !== plainTenant) query.set('tenant', tenantName)
  if (next !== undefined) query.set('next', next)
  return `/admin/login/${kind === 'saml' ? 'saml' : 'oidc'}?${query}`
}

/** Returns the address to which an OpenID Connect provider sends the browser back. */
export const redirectUriOf = (publicUrl: string, providerId: string): string =>
  `${publicUrl}/admin/login/oidc/callback/${encodeId('identity_provider', providerId)}`
