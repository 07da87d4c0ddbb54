import { type TSchema, Type } from 'typebox'
import { listApiKeys } from './access.ts'
import { listDevices } from './devices.ts'
import { listDirectoryRuns } from './directory.ts'
import { listDirectorySources } from './directory-sources.ts'
import { endpoint } from './endpoint.ts'
import { listTokens } from './enrollment.ts'
import { getEnrollmentSettings } from './enrollment-settings.ts'
import { listExpiries } from './expiry.ts'
import { listIdentityProviders } from './federation.ts'
import { gatewayHealth } from './gateway-health.ts'
import { listGatewayPools, listGateways } from './gateways.ts'
import { listGroups } from './groups.ts'
import { listLocks } from './locks.ts'
import { getNotificationSettings, listNotifications } from './notifications.ts'
import { listPolicyBundles } from './policy.ts'
import { listGrants } from './rbac.ts'
import { getRetention, listLegalHolds } from './retention.ts'
import { Closed, Nullable, OneOf, pageQuery, Time } from './schema.ts'
import { getSecuritySettings } from './settings.ts'
import { listSiemConnectors } from './siem.ts'
import { listSigners } from './signers.ts'
import { listReleases } from './updates.ts'
import { listUsers } from './users.ts'

const itemOf = <S extends TSchema>(list: { response: { properties: { items: { items: S } } } }): S =>
  list.response.properties.items.items

/** Content of an export, one object at a time, each as in the answer of the operation that reads it. */
const exported = {
  security_settings: getSecuritySettings.response,
  enrollment_settings: getEnrollmentSettings.response,
  notification_settings: getNotificationSettings.response,
  retention: getRetention.response,
  identity_provider: itemOf(listIdentityProviders),
  directory_source: itemOf(listDirectorySources),
  siem_connector: itemOf(listSiemConnectors),
  legal_hold: itemOf(listLegalHolds),
  gateway_pool: itemOf(listGatewayPools),
  group: itemOf(listGroups),
  grant: itemOf(listGrants),
  policy_bundle: itemOf(listPolicyBundles),
  user: itemOf(listUsers),
  device: itemOf(listDevices),
  gateway: itemOf(listGateways),
  enrollment_token: itemOf(listTokens),
  api_key: itemOf(listApiKeys),
  release: itemOf(listReleases),
  gateway_health: itemOf(gatewayHealth),
  lock: itemOf(listLocks),
  signer: itemOf(listSigners),
  expiry: itemOf(listExpiries),
  notification: itemOf(listNotifications),
  directory_run: itemOf(listDirectoryRuns),
}
export type Exported = keyof typeof exported

/** Content of an export of each kind, in this order. */
export const exportKinds = {
  configuration: [
    'security_settings',
    'enrollment_settings',
    'notification_settings',
    'retention',
    'identity_provider',
    'directory_source',
    'siem_connector',
    'legal_hold',
    'gateway_pool',
    'group',
    'grant',
    'policy_bundle',
  ],
  inventory: ['user', 'group', 'device', 'gateway_pool', 'gateway', 'enrollment_token', 'api_key', 'release'],
  diagnostics: ['gateway', 'gateway_health', 'lock', 'signer', 'expiry', 'notification', 'directory_run'],
} as const satisfies Record<string, readonly Exported[]>
export type ExportKind = keyof typeof exportKinds

const kinds = Object.keys(exportKinds) as ExportKind[]
const types = Object.keys(exported) as Exported[]
const anyOf = Type.Partial(Closed(exported)).properties

export const exportOperations = endpoint({
  method: 'GET',
  path: '/v1/admin/ops/export',
  summary: 'Export inventory or configuration',
  description: 'The export is for support and comparison. It has pages and no secrets.',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  query: Closed({
    kind: OneOf(kinds, { description: 'Content of the export' }),
    limit: pageQuery.limit,
    cursor: Type.Optional(Type.String({ maxLength: 2200 })),
  }),
  response: Closed(
    {
      kind: OneOf(kinds),
      exported_at: Time,
      items: Type.Array(
        Closed(
          { type: OneOf(types, { description: 'Kind of the item. The member of this name has the object' }), ...anyOf },
          { title: 'ExportedItem' },
        ),
      ),
      left_out: Type.Array(OneOf(types), {
        description: 'Types that the export lacks, because the caller may not read them',
      }),
      next_cursor: Nullable(Type.String({ description: 'Cursor of the next page; null: this page is the last one' })),
    },
    { title: 'OperationsExport' },
  ),
})
