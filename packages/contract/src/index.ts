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
  { tag: 'Health', about: 'Whether it runs, whether it is ready, and this document', module: health },
  { tag: 'Access', about: 'Signing in, admin sessions and API keys', module: access },
  { tag: 'Users', about: 'Who there is, and whether they may sign in', module: users },
  { tag: 'User credentials', about: 'Passwords and second factors', module: userCredentials },
  { tag: 'Roles', about: 'What each role may do, and who holds it', module: rbac },
  { tag: 'Groups', about: 'Groups of users', module: groups },
  { tag: 'Directory sync', about: 'Users and groups as a directory has them', module: directory },
  { tag: 'SCIM', about: 'What an identity provider provisions users and groups with', module: scim },
  { tag: 'Directory sources', about: 'Directories that are read from here, and when', module: directorySources },
  { tag: 'Enrollment', about: 'Enrollment tokens, and how a device gets its credential', module: enrollment },
  { tag: 'Devices', about: 'The fleet, and what devices report', module: devices },
  { tag: 'Facets', about: 'How many devices or users have which value of a filter', module: facets },
  { tag: 'Posture', about: 'What devices report of themselves, and what checks make of it', module: posture },
  {
    tag: 'Policy',
    about: 'Documents, published bundles, and what a device gets',
    module: { ...policy, ...policyReach },
  },
  {
    tag: 'Policy rollout',
    about: 'What a draft would have blocked, how a canary fares, and what its gate makes of it',
    module: policyRollout,
  },
  { tag: 'Gateways', about: 'Gateway pools and gateways', module: { ...gateways, ...gatewayList } },
  {
    tag: 'Gateway health',
    about: 'How gateways do, and whom it concerns',
    module: { ...gatewayHealth, ...gatewayHistory },
  },
  { tag: 'Gateway runtime', about: 'What gateways fetch and report', module: gatewayRuntime },
  { tag: 'VPN sessions', about: 'Connections of devices through gateways', module: vpnSessions },
  {
    tag: 'Connection truth',
    about: 'What each witness of a connection says, and whether they agree',
    module: connectionTruth,
  },
  {
    tag: 'Settings',
    about: 'What a tenant decides about its security and its enrollment',
    module: { ...settings, ...enrollmentSettings },
  },
  { tag: 'Start', about: 'How far a tenant is set up', module: start },
  { tag: 'Identity providers', about: 'With whom people sign in, and as whom', module: federation },
  { tag: 'Single logout', about: 'What identity providers say of who signed out', module: federationLogout },
  { tag: 'Tenants', about: 'The companies of this deployment, and their plans', module: tenants },
  { tag: 'Entitlement', about: 'License, limits and usage', module: entitlement },
  { tag: 'Master keys', about: 'What this deployment seals under, and how far a rotation is', module: masterKeys },
  { tag: 'Trust', about: 'Trust anchors and their rotation', module: trust },
  { tag: 'Signers', about: 'Signing keys and certification authorities', module: signers },
  { tag: 'Certificates', about: 'Security Policy Certificates (SPC) of devices', module: spc },
  { tag: 'Expiry', about: 'What runs out, and when', module: expiry },
  {
    tag: 'Dashboard',
    about: 'How the fleet stands, at a glance and over time',
    module: { ...dashboard, ...fleetMetrics },
  },
  { tag: 'Releases', about: 'Releases of the client, their packages, and to whom they are offered', module: updates },
  { tag: 'Updates', about: 'What a device is offered and downloads', module: updateDelivery },
  { tag: 'TUF', about: 'The same as a repository of The Update Framework', module: tuf },
  { tag: 'Locks', about: 'What is kept out at once, whatever else holds', module: locks },
  { tag: 'Workflows', about: 'Workflows and incident playbooks, and their runs', module: workflows },
  { tag: 'Audit', about: 'What happened', module: audit },
  { tag: 'Audit exports', about: 'The record as a file, and what proves it', module: auditExport },
  { tag: 'Audit evidence', about: 'That what happened is still what was recorded', module: auditProof },
  { tag: 'SIEM', about: 'Where audit events are forwarded to', module: siem },
  { tag: 'SIEM exports', about: 'What is sent there once more, and how it looks', module: siemExports },
  { tag: 'Retention', about: 'How long data is kept, and legal holds', module: retention },
  { tag: 'Operations', about: 'What there is, given out as a whole', module: opsExport },
  { tag: 'Search', about: 'Finds things of all kinds by name', module: search },
  { tag: 'Views', about: 'Filters of lists, saved under a name', module: views },
  { tag: 'Notifications', about: 'What administrators must hear of', module: notifications },
  { tag: 'Changes', about: 'The changes in a tenant, as they happen', module: stream },
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
export type Contract = typeof contract
export type Operation = keyof Contract
export const operations = Object.entries(contract) as [Operation, Endpoint][]
export type { Endpoint, Given, Input, Output } from './endpoint.ts'
