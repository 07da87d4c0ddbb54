import * as access from './access.ts'
import * as audit from './audit.ts'
import * as auditExport from './audit-export.ts'
import * as auditProof from './audit-proof.ts'
import * as connectionTruth from './connection-truth.ts'
import * as dashboard from './dashboard.ts'
import * as devices from './devices.ts'
import * as directory from './directory.ts'
import * as directorySources from './directory-sources.ts'
import type { Endpoint } from './endpoint.ts'
import * as enrollment from './enrollment.ts'
import * as enrollmentSettings from './enrollment-settings.ts'
import * as entitlement from './entitlement.ts'
import * as expiry from './expiry.ts'
import * as facets from './facets.ts'
import * as federation from './federation.ts'
import * as federationLogout from './federation-logout.ts'
import * as fleetMetrics from './fleet-metrics.ts'
import * as gatewayHealth from './gateway-health.ts'
import * as gatewayHistory from './gateway-history.ts'
import * as gatewayList from './gateway-list.ts'
import * as gatewayRuntime from './gateway-runtime.ts'
import * as gateways from './gateways.ts'
import * as groups from './groups.ts'
import * as health from './health.ts'
import * as locks from './locks.ts'
import * as masterKeys from './master-keys.ts'
import * as notifications from './notifications.ts'
import * as opsExport from './ops-export.ts'
import * as policy from './policy.ts'
import * as policyDrafts from './policy-drafts.ts'
import * as policyReach from './policy-reach.ts'
import * as policyRollout from './policy-rollout.ts'
import * as posture from './posture.ts'
import * as rbac from './rbac.ts'
import * as retention from './retention.ts'
import * as scim from './scim.ts'
import * as search from './search.ts'
import * as settings from './settings.ts'
import * as siem from './siem.ts'
import * as siemExports from './siem-exports.ts'
import * as signers from './signers.ts'
import * as spc from './spc.ts'
import * as start from './start.ts'
import * as stream from './stream.ts'
import * as tenants from './tenants.ts'
import * as trust from './trust.ts'
import * as tuf from './tuf.ts'
import * as updateDelivery from './update-delivery.ts'
import * as updates from './updates.ts'
import * as userCredentials from './user-credentials.ts'
import * as users from './users.ts'
import * as views from './views.ts'
import * as vpnSessions from './vpn-sessions.ts'
import * as workflows from './workflows.ts'

type EndpointsOf<M> = { [K in keyof M as M[K] extends Endpoint ? K : never]: M[K] }
const endpointsOf = <M extends object>(module: M) =>
  Object.fromEntries(
    Object.entries(module).filter(([, v]) => typeof v === 'object' && v !== null && 'access' in v && 'path' in v),
  ) as EndpointsOf<M>

/** Parts of the API, as its description groups them. */
export const areas: readonly { tag: string; about: string; module: object }[] = [
  { tag: 'Health', about: 'Liveness, readiness, and this document', module: health },
  { tag: 'Access', about: 'Sign-in, admin sessions and API keys', module: access },
  { tag: 'Users', about: 'Users and their status', module: users },
  { tag: 'User credentials', about: 'Passwords and second factors', module: userCredentials },
  { tag: 'Roles', about: 'Roles, their permissions and their grants', module: rbac },
  { tag: 'Groups', about: 'Groups of users', module: groups },
  { tag: 'Directory sync', about: 'Snapshots of users and groups of a directory, and their runs', module: directory },
  { tag: 'SCIM', about: 'Provisioning of users and groups by an identity provider (SCIM)', module: scim },
  { tag: 'Directory sources', about: 'Directories that this server reads on a schedule', module: directorySources },
  { tag: 'Enrollment', about: 'Enrollment tokens, and how a device gets its credential', module: enrollment },
  { tag: 'Devices', about: 'Devices and their status', module: devices },
  { tag: 'Facets', about: 'Counts of devices or users for each value of a filter', module: facets },
  { tag: 'Posture', about: 'Posture reports of devices, and the results of the checks', module: posture },
  {
    tag: 'Policy',
    about: 'Policy documents, published bundles, and the bundle of a device',
    module: { ...policy, ...policyReach },
  },
  {
    tag: 'Policy rollout',
    about: 'Replay of a draft, health of a canary, and its gate',
    module: policyRollout,
  },
  { tag: 'Policy drafts', about: 'Drafts of policies, kept on the server', module: policyDrafts },
  { tag: 'Gateways', about: 'Gateway pools and gateways', module: { ...gateways, ...gatewayList } },
  {
    tag: 'Gateway health',
    about: 'Health of gateways, and the affected devices',
    module: { ...gatewayHealth, ...gatewayHistory },
  },
  { tag: 'Gateway runtime', about: 'Policies and reports of gateways', module: gatewayRuntime },
  { tag: 'VPN sessions', about: 'Connections of devices through gateways', module: vpnSessions },
  {
    tag: 'Connection truth',
    about: 'Comparison of the reports of gateway, device and server on each connection',
    module: connectionTruth,
  },
  {
    tag: 'Settings',
    about: 'Settings of a tenant for security and enrollment',
    module: { ...settings, ...enrollmentSettings },
  },
  { tag: 'Start', about: 'Steps of the setup of a tenant', module: start },
  { tag: 'Identity providers', about: 'Identity providers, and their links to users', module: federation },
  { tag: 'Single logout', about: 'Logout messages of identity providers', module: federationLogout },
  { tag: 'Tenants', about: 'Tenants (companies) of this deployment, and their plans', module: tenants },
  { tag: 'Entitlement', about: 'License, limits and usage', module: entitlement },
  { tag: 'Master keys', about: 'Master keys of this deployment, and the progress of a rotation', module: masterKeys },
  { tag: 'Trust', about: 'Trust anchors and their rotation', module: trust },
  { tag: 'Signers', about: 'Signing keys and certification authorities', module: signers },
  { tag: 'Certificates', about: 'Security Policy Certificates (SPC) of devices', module: spc },
  { tag: 'Expiry', about: 'Expiring certificates, keys, secrets and licenses', module: expiry },
  {
    tag: 'Dashboard',
    about: 'State of the fleet, now and over time',
    module: { ...dashboard, ...fleetMetrics },
  },
  { tag: 'Releases', about: 'Releases of the client, their packages and their rollout', module: updates },
  { tag: 'Updates', about: 'Updates for a device, and downloads', module: updateDelivery },
  { tag: 'TUF', about: 'Updates as a repository of The Update Framework (TUF)', module: tuf },
  { tag: 'Locks', about: 'Locks of users, devices, groups, gateways and the tenant', module: locks },
  { tag: 'Workflows', about: 'Workflows and incident playbooks, and their runs', module: workflows },
  { tag: 'Audit', about: 'Audit events of the tenant', module: audit },
  { tag: 'Audit exports', about: 'Exports of the audit log with signed manifests', module: auditExport },
  { tag: 'Audit evidence', about: 'Proofs that the audit log was not altered', module: auditProof },
  { tag: 'SIEM', about: 'Connectors that forward audit events', module: siem },
  {
    tag: 'SIEM exports',
    about: 'Repeated deliveries of audit events, and the schemas of the events',
    module: siemExports,
  },
  { tag: 'Retention', about: 'Retention of data, and legal holds', module: retention },
  { tag: 'Operations', about: 'Exports of inventory and configuration', module: opsExport },
  { tag: 'Search', about: 'Search of objects of all kinds by name', module: search },
  { tag: 'Views', about: 'Filters of lists, saved under a name', module: views },
  { tag: 'Notifications', about: 'Messages for administrators', module: notifications },
  { tag: 'Changes', about: 'Stream of the changes in a tenant', module: stream },
]
export const areaOf = (operation: string): string =>
  areas.find(({ module }) => operation in module)?.tag ?? fail(operation)
const fail = (operation: string): never => {
  throw new Error(`${operation} is in no area`)
}

/** Every endpoint of the product, by operation name. */
export const contract = {
  ...endpointsOf(health),
  ...endpointsOf(access),
  ...endpointsOf(users),
  ...endpointsOf(userCredentials),
  ...endpointsOf(rbac),
  ...endpointsOf(groups),
  ...endpointsOf(federation),
  ...endpointsOf(federationLogout),
  ...endpointsOf(directory),
  ...endpointsOf(scim),
  ...endpointsOf(directorySources),
  ...endpointsOf(enrollment),
  ...endpointsOf(connectionTruth),
  ...endpointsOf(devices),
  ...endpointsOf(facets),
  ...endpointsOf(posture),
  ...endpointsOf(policy),
  ...endpointsOf(policyReach),
  ...endpointsOf(policyDrafts),
  ...endpointsOf(policyRollout),
  ...endpointsOf(gateways),
  ...endpointsOf(gatewayList),
  ...endpointsOf(gatewayHealth),
  ...endpointsOf(gatewayHistory),
  ...endpointsOf(gatewayRuntime),
  ...endpointsOf(vpnSessions),
  ...endpointsOf(settings),
  ...endpointsOf(enrollmentSettings),
  ...endpointsOf(start),
  ...endpointsOf(tenants),
  ...endpointsOf(entitlement),
  ...endpointsOf(masterKeys),
  ...endpointsOf(trust),
  ...endpointsOf(signers),
  ...endpointsOf(spc),
  ...endpointsOf(expiry),
  ...endpointsOf(dashboard),
  ...endpointsOf(fleetMetrics),
  ...endpointsOf(updates),
  ...endpointsOf(updateDelivery),
  ...endpointsOf(tuf),
  ...endpointsOf(locks),
  ...endpointsOf(workflows),
  ...endpointsOf(audit),
  ...endpointsOf(auditExport),
  ...endpointsOf(auditProof),
  ...endpointsOf(siem),
  ...endpointsOf(siemExports),
  ...endpointsOf(retention),
  ...endpointsOf(notifications),
  ...endpointsOf(search),
  ...endpointsOf(views),
  ...endpointsOf(opsExport),
  ...endpointsOf(stream),
}
/** Returns the default order of a list; throws for an operation whose query has no `sort`. */
export function usualSort(operation: string): string {
  const { query } = contract[operation as Operation] as Endpoint
  const { properties } = query as unknown as { properties: { sort: { default: string } } }
  return properties.sort.default
}
export type Contract = typeof contract
export type Operation = keyof Contract
export const operations = Object.entries(contract) as [Operation, Endpoint][]
export type { Endpoint, Given, Input, Output } from './endpoint.ts'
