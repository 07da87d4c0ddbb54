import type { Output } from '@holdfast/contract'
import type { getIdentityProvider } from '@holdfast/contract/federation'
import type { Handlers } from '../../http/handlers.ts'
import { failField } from '../../kernel/app-error.ts'
import { decodeId, encodeId, idOf } from '../../kernel/ids.ts'
import { requireSame, versioned } from '../../kernel/version.ts'
import { FederationError } from './proven.ts'
import type { GroupMapping, ProviderRow } from './providers.queries.ts'
import { fieldsOf, type Providers, versionOf } from './providers.ts'
import { redirectUriOf } from './sign-in.ts'

type View = Output<typeof getIdentityProvider>
/** What a PUT can not set, and may send back as it is. */
const fixed = ['provider_id', 'tenant_id', 'kind', 'created_at', 'updated_at'] as const
const fixedOfOidc = ['client_secret_set', 'redirect_uri'] as const

export function providerHandlers({ providers, publicUrl }: { providers: Providers; publicUrl: string }) {
  const viewFixed = (p: ProviderRow) => ({
    provider_id: encodeId('identity_provider', p.provider_id),
    tenant_id: encodeId('tenant', p.tenant_id),
    kind: p.kind,
    created_at: p.created_at.toISOString(),
    updated_at: p.updated_at.toISOString(),
  })
  const viewFixedOidc = (p: ProviderRow) => ({
    client_secret_set: p.client_secret_jwe !== null,
    redirect_uri: redirectUriOf(publicUrl, p.provider_id),
  })
  const view = (p: ProviderRow): View => ({
    ...viewFixed(p),
    ...fieldsOf(p),
    group_mappings: p.group_mappings.map((m) => ({ value: m.value, group_id: encodeId('group', m.group_id) })),
    oidc: { ...fieldsOf(p).oidc, ...viewFixedOidc(p) },
    linked_users: p.linked_users,
  })

  return {
    listIdentityProviders: async ({ actor, query }) => {
      const found = await providers.list(actor.tenantId, query)
      return { items: found.items.map(view), next_cursor: found.next_cursor }
    },
    createIdentityProvider: async ({ actor, body: { group_mappings, oidc, ...rest } }) => {
      const { client_secret, ...settings } = oidc
      const mappings = group_mappings && { group_mappings: decodeMappings(group_mappings) }
      return view(await providers.create(actor, { ...rest, ...mappings, oidc: settings }, client_secret))
    },
    getIdentityProvider: async ({ actor, params }) => {
      const row = await providers.get(actor.tenantId, idOf('identity_provider', params.provider_id))
      return versioned(versionOf(row), view(row))
    },
    updateIdentityProvider: async ({ actor, params, body, expected }) => {
      const id = idOf('identity_provider', params.provider_id)
      const fields = fieldsOf({ ...body, group_mappings: decodeMappings(body.group_mappings) })
      const secret = body.oidc.client_secret
      return view(
        await providers.replace(actor, id, { fields, secret }, (before) => {
          expected.require(versionOf(before))
          requireSame(viewFixed(before), body, fixed)
          requireSame(viewFixedOidc(before), body.oidc, fixedOfOidc, 'oidc.')
        }),
      )
    },
    deleteIdentityProvider: async ({ actor, params, expected }) => ({
      changed: await providers.remove(actor, idOf('identity_provider', params.provider_id), expected),
    }),
    testIdentityProvider: async ({ actor, params }) => {
      const found = await providers.test(actor, idOf('identity_provider', params.provider_id))
      if (found instanceof FederationError)
        return { ok: false, problem: { reason: found.reason, detail: found.message }, found: null }
      const { issuer: _, groups_claim_hint: __, algorithms, ...rest } = found
      return { ok: true, problem: null, found: { ...rest, algorithms: [...algorithms] } }
    },
  } satisfies Partial<Handlers>
}

const decodeMappings = (list: readonly { value: string; group_id: string }[]): GroupMapping[] =>
  list.map(({ value, group_id }, i) => ({
    value,
    group_id: decodeId('group', group_id) ?? failField(`group_mappings[${i}].group_id`, 'no such group'),
  }))
