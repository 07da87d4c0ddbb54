import type { Output } from '@holdfast/contract'
import type { getIdentityProvider } from '@holdfast/contract/federation'
import { backchannelLogoutBase } from '@holdfast/contract/federation-logout'
import type { Handlers } from '../../../http/handlers.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { decodeId, encodeId, idOf } from '../../../kernel/ids.ts'
import { requireSame, versioned } from '../../../kernel/version.ts'
import { FederationError } from '../protocols/proven-identity.ts'
import { viewEnded } from './provider-change-rules.ts'
import { providerVersion, settableFields } from './provider-fields.ts'
import type { GroupMapping, ProviderRow } from './providers.queries.ts'
import type { Providers } from './providers.ts'
import { spOf, viewFound } from './saml-settings.ts'
import { ofTenant, redirectUriOf } from './sign-in-paths.ts'

type View = Output<typeof getIdentityProvider>
/** Fields that a PUT cannot change, and may send back unchanged. */
const fixed = ['provider_id', 'tenant_id', 'kind', 'created_at'] as const
const fixedOfOidc = ['redirect_uri'] as const
const fixedOfSaml = ['sp_entity_id', 'acs_url'] as const

export function providerHandlers({
  providers,
  publicUrl,
  tenantName,
}: {
  providers: Providers
  publicUrl: string
  tenantName: (tenant: TenantId) => Promise<string | undefined>
}) {
  const viewFixed = (p: ProviderRow) => ({
    provider_id: encodeId('identity_provider', p.provider_id),
    tenant_id: encodeId('tenant', p.tenant_id),
    kind: p.kind,
    created_at: p.created_at.toISOString(),
    updated_at: p.updated_at.toISOString(),
  })
  const viewFixedOidc = (p: ProviderRow, tenant: string) => ({
    client_secret_set: p.client_secret_jwe !== null,
    redirect_uri: redirectUriOf(publicUrl, p.provider_id),
    backchannel_logout_uri: `${publicUrl}${backchannelLogoutBase}/${encodeId('identity_provider', p.provider_id)}${ofTenant(tenant)}`,
  })
  const viewFixedSaml = (p: ProviderRow, tenant: string) => {
    const { entityId, acsUrl } = spOf(publicUrl, p.provider_id)
    return { sp_entity_id: entityId, acs_url: acsUrl, sp_metadata_url: entityId + ofTenant(tenant) }
  }
  async function viewAll(rows: readonly ProviderRow[]): Promise<View[]> {
    const [first] = rows
    const ids = rows.map((p) => p.provider_id)
    const linked = first && (await providers.linkedTo(first.tenant_id, ids))
    return Promise.all(rows.map((p) => viewWith(p, linked?.get(p.provider_id) ?? 0)))
  }
  const view = async (p: ProviderRow): Promise<View> =>
    viewWith(p, (await providers.linkedTo(p.tenant_id, [p.provider_id])).get(p.provider_id) ?? 0)
  async function viewWith(p: ProviderRow, linked_users: number): Promise<View> {
    const { oidc, saml, ...fields } = settableFields(p)
    const measured = {
      found: viewFound(p),
      problem: p.saml_problem,
      checked_at: p.saml_checked_at?.toISOString() ?? null,
    }
    const tenant = await nameOf(p.tenant_id)
    return {
      ...viewFixed(p),
      ...fields,
      group_mappings: p.group_mappings.map((m) => ({ value: m.value, group_id: encodeId('group', m.group_id) })),
      oidc: oidc && { ...oidc, ...viewFixedOidc(p, tenant) },
      saml: saml && { ...saml, ...measured, ...viewFixedSaml(p, tenant) },
      linked_users,
    }
  }
  const nameOf = async (tenant: TenantId) => (await tenantName(tenant)) ?? ''

  return {
    listIdentityProviders: async ({ actor, query }) => {
      const found = await providers.list(actor.tenantId, query)
      return { items: await viewAll(found.items), next_cursor: found.next_cursor }
    },
    createIdentityProvider: async ({ actor, body: { group_mappings, oidc, ...rest } }) => {
      const { client_secret, ...settings } = oidc ?? {}
      const mappings = group_mappings && { group_mappings: decodeMappings(group_mappings) }
      const given = { ...rest, ...mappings, ...(oidc && { oidc: settings as typeof oidc }) }
      return view(await providers.create(actor, given, client_secret))
    },
    getIdentityProvider: async ({ actor, params }) => {
      const row = await providers.get(actor.tenantId, idOf('identity_provider', params.provider_id))
      return versioned(providerVersion(row), await view(row))
    },
    updateIdentityProvider: async ({ actor, params, query, body, expected }) => {
      const id = idOf('identity_provider', params.provider_id)
      const { oidc = null, saml = null, ...rest } = body
      const { client_secret: secret, ...settings } = oidc ?? {}
      const fields = settableFields({ ...rest, group_mappings: decodeMappings(body.group_mappings), oidc, saml })
      const xml = saml?.metadata_xml === undefined ? {} : { metadata_xml: saml.metadata_xml }
      const given = { ...fields, saml: fields.saml && { ...fields.saml, ...xml } }
      const name = await nameOf(actor.tenantId)
      const endLinks = query.end_links_of_stronger ?? false
      const { row, ended } = await providers.replace(actor, id, { given, secret, endLinks }, (before) => {
        expected.require(providerVersion(before))
        requireSame(viewFixed(before), body, fixed)
        requireSame(viewFixedOidc(before, name), settings, fixedOfOidc, 'oidc.')
        requireSame(viewFixedSaml(before, name), saml ?? {}, fixedOfSaml, 'saml.')
      })
      return { ...(await view(row)), ...(endLinks && { ended_links: viewEnded(ended) }) }
    },
    deleteIdentityProvider: async ({ actor, params, expected }) => ({
      changed: await providers.remove(actor, idOf('identity_provider', params.provider_id), expected),
    }),
    testIdentityProvider: async ({ actor, params }) => {
      const found = await providers.test(actor, idOf('identity_provider', params.provider_id))
      if (found instanceof FederationError)
        return { ok: false, problem: { reason: found.reason, detail: found.message }, found: null, saml: null }
      if (!found.oidc) return { ok: true, problem: null, found: null, saml: found.saml }
      const { issuer: _, groups_claim_hint: __, algorithms, ...rest } = found.oidc
      return { ok: true, problem: null, found: { ...rest, algorithms: [...algorithms] }, saml: null }
    },
  } satisfies Partial<Handlers>
}

const decodeMappings = (list: readonly { value: string; group_id: string }[]): GroupMapping[] =>
  list.map(({ value, group_id }, i) => ({
    value,
    group_id: decodeId('group', group_id) ?? failField(`group_mappings[${i}].group_id`, 'no such group'),
  }))
