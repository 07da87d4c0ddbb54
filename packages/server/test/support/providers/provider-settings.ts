import assert from 'node:assert/strict'
import { ApiError, type Client, changeIdentityProvider } from '@holdfast/sdk'
import type { Kit } from '../deployment/deployment.ts'
import { metadataOf } from './saml-idp.ts'
import { key, rsaKey } from './saml-responses.ts'

type Given = Parameters<typeof changeIdentityProvider>[2]

export const statusOf = (asked: Promise<unknown>): Promise<number> =>
  asked.then(
    () => 200,
    (e) => (e instanceof ApiError ? e.status : assert.fail(String(e))),
  )

/** Shared, because making a key is slow. */
export const anotherKey = rsaKey()
/** A change from the first value to the second widens or alters a provider's vouching; `back` only narrows it. */
type Row = { kind: 'oidc' | 'saml'; values: [unknown, unknown]; to: 'judged' | 'free'; back: 'judged' | 'free' }
const judged = (kind: Row['kind'], ...values: [unknown, unknown]): Row => ({
  kind,
  values,
  to: 'judged',
  back: 'judged',
})
const narrows = (kind: Row['kind'], ...values: [unknown, unknown]): Row => ({
  kind,
  values,
  to: 'judged',
  back: 'free',
})
export const idpOf = (pem: string) => ({
  entity_id: 'https://a.example',
  sso_url: 'https://a.example/sso',
  certificates: [pem],
})
export const settingsOf = (group_id: string): Record<string, Row> => ({
  name: { kind: 'saml', values: ['One', 'Two'], to: 'free', back: 'free' },
  enabled: narrows('saml', false, true),
  sign_in: narrows('saml', false, true),
  enrollment: narrows('saml', false, true),
  requires_approval: narrows('saml', true, false),
  max_devices_per_user: narrows('saml', 3, null),
  provisioning: narrows('saml', 'none', 'create'),
  'claims.username': judged('saml', 'a', 'b'),
  'claims.email': judged('saml', 'a', 'b'),
  'claims.display_name': judged('saml', 'a', 'b'),
  'claims.groups': judged('saml', 'a', 'b'),
  group_mappings: judged('saml', [], [{ value: 'x', group_id }]),
  role_mappings: judged('saml', [], [{ value: 'x', role: 'viewer' }]),
  'oidc.issuer': judged('oidc', 'https://192.0.2.1', 'https://192.0.2.2'),
  'oidc.client_id': judged('oidc', 'a', 'b'),
  'oidc.scopes': judged('oidc', ['openid'], ['openid', 'groups']),
  'oidc.mobile_client_ids': judged('oidc', [], ['x']),
  'oidc.device_code': narrows('oidc', 'off', 'approval'),
  'oidc.client_secret': judged('oidc', 'one secret', 'another secret'),
  'saml.metadata_url': judged('saml', null, 'https://idp.invalid/metadata'),
  'saml.idp': judged('saml', idpOf(key.pem), idpOf(anotherKey.pem)),
  'saml.name_id_format': judged('saml', 'persistent', 'unspecified'),
  'saml.signed_response': narrows('saml', true, false),
  'saml.metadata_xml': judged(
    'saml',
    metadataOf('https://a.example', 'https://a.example/sso', [key]),
    metadataOf('https://a.example', 'https://a.example/sso', [anotherKey]),
  ),
})

export type Schema = { properties?: Record<string, Schema>; anyOf?: Schema[]; readOnly?: boolean; type?: string }
/** The paths of writable settings; `saml.idp` counts as one. */
export function settable({ properties = {} }: Schema, under = ''): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (schema.readOnly) return []
    const inner = [schema, ...(schema.anyOf ?? [])].find((s) => s.properties)
    const path = under + name
    return inner && path !== 'saml.idp' ? settable(inner, `${path}.`) : [path]
  })
}

export async function providersFor(kit: Kit, name: string) {
  const { admin } = kit
  const saml = { idp: idpOf(key.pem) }
  const oidc = { issuer: 'https://192.0.2.1', client_id: 'a', client_secret: 'x' }
  return {
    saml: (await admin.createIdentityProvider({ body: { name: `${name} by saml`, kind: 'saml', saml } })).provider_id,
    oidc: (
      await admin.createIdentityProvider({ body: { name: `${name} by oidc`, kind: 'oidc', enabled: false, oidc } })
    ).provider_id,
  }
}

const claims = { username: 'u', email: 'e', display_name: 'd', groups: 'g' }
/** The change of one setting, with the other fields that it requires. */
function changeOf(path: string, value: unknown): Given {
  const [section = '', field] = path.split('.')
  if (field === undefined) return { [section]: value }
  if (path === 'saml.metadata_url')
    return { enabled: false, saml: { metadata_url: value, idp: value ? null : idpOf(key.pem) } } as Given
  if (path === 'saml.metadata_xml') return { saml: { metadata_url: null, idp: null, metadata_xml: value } } as Given
  if (section === 'claims') return { claims: { ...claims, [field]: value } }
  if (path === 'oidc.issuer') return { oidc: { issuer: value, client_secret: 'x' } } as Given
  return { [section]: { [field]: value } }
}
export const setOne = (client: Client, provider_id: string, path: string, value: unknown): Promise<number> =>
  statusOf(changeIdentityProvider(client, { params: { provider_id } }, changeOf(path, value)))
