import { failField } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Measured, ProviderFields, ProviderRow } from './providers.queries.ts'
import { factsOfIdp } from './saml-settings.ts'

export const providerTarget = ({ provider_id, name }: Pick<ProviderRow, 'provider_id' | 'name'>) => ({
  type: 'identity_provider',
  id: encodeId('identity_provider', provider_id),
  name,
})

/** Configured part of a provider, for its version. Results of reading its metadata are left out. */
export const providerVersion = ({ saml_found, saml_checked_at, saml_problem, ...set }: ProviderRow) => set
export const measuredOf = ({ saml_found, saml_checked_at, saml_problem }: ProviderRow): Measured => ({
  saml_found,
  saml_checked_at,
  saml_problem,
})

/** Configured fields of a provider, without its secret. */
export const settableFields = (p: ProviderFields): ProviderFields => ({
  name: p.name,
  enabled: p.enabled,
  sign_in: p.sign_in,
  enrollment: p.enrollment,
  requires_approval: p.requires_approval,
  max_devices_per_user: p.max_devices_per_user,
  provisioning: p.provisioning,
  claims: p.claims,
  group_mappings: p.group_mappings,
  role_mappings: p.role_mappings,
  oidc: p.oidc && {
    issuer: p.oidc.issuer,
    client_id: p.oidc.client_id,
    scopes: p.oidc.scopes,
    mobile_client_ids: p.oidc.mobile_client_ids,
    device_code: p.oidc.device_code,
  },
  saml: p.saml && {
    metadata_url: p.saml.metadata_url,
    idp: p.saml.idp,
    name_id_format: p.saml.name_id_format,
    signed_response: p.saml.signed_response,
  },
})

/** Fields of a provider for audit events, as on the wire. Group mappings are sorted, since they have no order. */
export const providerFacts = (p: ProviderFields) => ({
  ...settableFields(p),
  saml: p.saml && { ...p.saml, idp: factsOfIdp(p.saml.idp) },
  group_mappings: p.group_mappings
    .map(({ value, group_id }) => ({ value, group_id: encodeId('group', group_id) }))
    .toSorted((a, b) => (`${a.group_id} ${a.value}` < `${b.group_id} ${b.value}` ? -1 : 1)),
})

export function refuseTwice({ group_mappings: list }: Pick<ProviderFields, 'group_mappings'>): void {
  const seen = new Set<string>()
  for (const [i, m] of list.entries()) {
    const key = JSON.stringify([m.value, m.group_id])
    if (seen.has(key)) failField(`group_mappings[${i}]`, 'is given twice')
    seen.add(key)
  }
}
