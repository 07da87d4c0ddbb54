import { type Static, Type } from 'typebox'
import { listApiKeys } from './access.ts'
import { listAuditEvents } from './audit.ts'
import { dashboardOverview } from './dashboard.ts'
import { listDevices } from './devices.ts'
import { listDirectoryRuns } from './directory.ts'
import { listDirectorySources } from './directory-sources.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { listTokens } from './enrollment.ts'
import { getEntitlement } from './entitlement.ts'
import { listIdentityProviders } from './federation.ts'
import { listAllGateways } from './gateway-list.ts'
import { listGatewayPools } from './gateways.ts'
import { listGroups } from './groups.ts'
import { streamCommentSeconds } from './limits.ts'
import { listLocks } from './locks.ts'
import { listNotifications } from './notifications.ts'
import { listPolicyBundles } from './policy.ts'
import { listPolicyDrafts } from './policy-drafts.ts'
import { listGrants } from './rbac.ts'
import { listLegalHolds } from './retention.ts'
import { Closed, Count, Id, Octets, OneOf, Time } from './schema.ts'
import { getSecuritySettings } from './settings.ts'
import { listSiemConnectors } from './siem.ts'
import { listSigners } from './signers.ts'
import { listSpcs } from './spc.ts'
import { listTenants } from './tenants.ts'
import { listReleases } from './updates.ts'
import { listUsers } from './users.ts'
import type { Noun, Permission } from './vocabulary.ts'
import { listSessions } from './vpn-sessions.ts'
import { listWorkflowRuns } from './workflows.ts'

type Kind = { permission: Permission; noun?: Noun }
const like = ({ access }: Endpoint & { access: { permission: Permission } }, noun?: Noun): Kind => ({
  permission: access.permission,
  ...(noun && { noun }),
})

/**
 * Kinds of lists in a stream of changes. A caller gets a kind with the permission of the operation that reads the list.
 * `noun`: the noun of the ids; a kind without one has no ids.
 */
export const changedKinds = {
  devices: like(listDevices, 'device'),
  sessions: like(listSessions, 'vpn_session'),
  users: like(listUsers, 'user'),
  groups: like(listGroups, 'group'),
  grants: like(listGrants, 'user'),
  admin_sessions: { permission: 'credentials:read', noun: 'admin_session' },
  keys: like(listApiKeys, 'api_key'),
  tokens: like(listTokens, 'enrollment_token'),
  gateways: like(listAllGateways, 'gateway'),
  pools: like(listGatewayPools, 'gateway_pool'),
  policy: like(listPolicyBundles, 'policy_bundle'),
  policy_drafts: like(listPolicyDrafts, 'policy_draft'),
  certificates: like(listSpcs, 'spc'),
  trust: like(listSigners, 'signer'),
  updates: like(listReleases, 'release'),
  notifications: like(listNotifications, 'notification'),
  runs: like(listWorkflowRuns, 'workflow_run'),
  locks: like(listLocks, 'lock'),
  settings: like(getSecuritySettings),
  providers: like(listIdentityProviders, 'identity_provider'),
  directory_runs: like(listDirectoryRuns, 'directory_run'),
  directory_sources: like(listDirectorySources, 'directory_source'),
  connectors: like(listSiemConnectors, 'siem_connector'),
  legal_holds: like(listLegalHolds, 'legal_hold'),
  entitlement: like(getEntitlement),
  tenants: like(listTenants, 'tenant'),
} as const satisfies Record<string, Kind>
export type ChangedKind = keyof typeof changedKinds
export const changedKindNames = Object.keys(changedKinds) as [ChangedKind, ...ChangedKind[]]

/** Most ids in a batch of changes. */
export const mostChangedIds = 50
const AnyIds = Type.Array(Type.String({ maxLength: 64 }), { maxItems: mostChangedIds })
const Many = Type.Boolean({
  description: 'True: more items have changed than `ids` names, or they are not known. Read the list again',
})
const some = (noun: Noun) => ({ ids: Type.Array(Id(noun), { maxItems: mostChangedIds }), many: Many })

/** Reasons why a stream ends. A client opens a new one only after `permissions_changed` and `stopping`. */
export const streamEnds = [
  'session_ended',
  'key_ended',
  'tenant_suspended',
  'permissions_changed',
  'replaced',
  'stopping',
] as const

/** Events of `streamChanges`, by the field `event`, with the JSON of `data`. */
export const streamEvents = {
  ready: Closed(
    { kinds: Type.Array(OneOf(changedKindNames), { description: 'Kinds of lists of this stream' }) },
    { description: 'First event of a stream. Changes from now on follow, or those since `Last-Event-ID`' },
  ),
  reset: Closed({}, { description: 'The changes since `Last-Event-ID` are not known. Read everything again' }),
  changed: Closed(
    { changes: Type.Array(Closed({ kind: OneOf(changedKindNames), ids: AnyIds, many: Many })) },
    { description: 'Changed lists, with the ids of the changed items' },
  ),
  alert: Closed(
    {
      raised: Type.Array(Id('notification'), { maxItems: mostChangedIds }),
      ended: Type.Array(Id('notification'), { maxItems: mostChangedIds, description: 'Acknowledged or closed' }),
      many: Many,
    },
    { description: 'Notifications that were opened or closed' },
  ),
  run: Closed(some('workflow_run'), { description: 'Workflow runs that began, took a step or ended' }),
  gateway: Closed(some('gateway'), { description: 'Gateways whose status changed' }),
  adoption: Closed({}, { description: 'The number of devices that have confirmed a policy has changed' }),
  audit: Closed({ seq: Count }, { description: 'The audit log has events up to this sequence number' }),
  expires: Closed(
    {
      at: Time,
      cause: OneOf(['idle', 'absolute'], {
        description: 'Cause of the end. Only `idle` can be prolonged, by any request that is not a background request',
      }),
    },
    { description: 'Time at which the session ends. The event is sent two minutes before' },
  ),
  end: Closed({ reason: OneOf(streamEnds) }, { description: 'Last event. The server then closes the connection' }),
} as const
export type StreamEventName = keyof typeof streamEvents
export type StreamEvent = {
  [K in StreamEventName]: { event: K; id: string; data: Static<(typeof streamEvents)[K]> }
}[StreamEventName]

/** Permission for each event that is not about a list. */
export const eventPermissions = {
  alert: listNotifications.access.permission,
  run: listWorkflowRuns.access.permission,
  gateway: listAllGateways.access.permission,
  adoption: dashboardOverview.access.permission,
  audit: listAuditEvents.access.permission,
} as const satisfies Partial<Record<StreamEventName, Permission>>

export const streamChanges = endpoint({
  method: 'GET',
  path: '/v1/admin/stream',
  summary: 'Stream the changes in the tenant',
  description:
    'The answer is a stream of server-sent events. It has only changes that the caller may read. `Last-Event-ID` resumes it. An open stream does not prolong a session.',
  access: { by: ['session', 'api_key'], permission: 'own' },
  query: Closed({
    kinds: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 512,
        pattern: '^[a-z_]+(,[a-z_]+)*$',
        description: `Only changes of these lists, separated by commas: ${changedKindNames.join(', ')}`,
      }),
    ),
  }),
  headers: ['Last-Event-ID'],
  stream: {
    'text/event-stream': Type.Unknown({
      description: `Events of the HTML standard: \`event\`, \`id\`, and \`data\` as JSON; a comment every ${streamCommentSeconds} s`,
    }),
  },
  events: streamEvents,
  response: Octets,
  errors: ['rate_limited'],
})
