import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from './index.ts'

type Schema = {
  title?: string
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
}

/**
 * Ids in answers without a name beside them, by schema and property, with the reason. An id without a reason fails the
 * test, and so does an unused reason: the list only shrinks.
 */
const unnamed: Readonly<Record<string, string>> = {
  ...of('it is the thing itself, whose name stands in `name`, `username` or another field', [
    'ApiKey:key_id',
    'User:user_id',
    'Group:group_id',
    'IdentityProvider:provider_id',
    'Device:device_id',
    'EnrollmentToken:token_id',
    'Gateway:gateway_id',
    'GatewayPool:pool_id',
    'GatewayHealth:gateway_id',
    'Plan:plan_id',
    'SavedView:view_id',
    'PolicyDraft:draft_id',
    'PolicyDraftDetail:draft_id',
    'SiemConnector:connector_id',
    'DirectorySource:source_id',
  ]),
  ...of('it is the thing itself, which has no name', [
    'AdminSession:session_id',
    'DirectoryRun:run_id',
    'DirectoryRunSummary:run_id',
    'VpnSession:session_id',
    'VpnSessionDetail:session_id',
    'PolicyBundle:bundle_id',
    'PolicyBundleDetail:bundle_id',
    'getPolicyHealth:bundle_id',
    'PolicyDraftVersion:bundle_id',
    'LicenseStatus:license_id',
    'MasterKey:key_id',
    'Signer:signer_id',
    'Spc:spc_id',
    'getSpc:spc_id',
    'Lock:lock_id',
    'Release:release_id',
    'Package:package_id',
    'WorkflowRun:workflow_run_id',
    'WorkflowRunDetail:workflow_run_id',
    'LegalHold:legal_hold_id',
    'Notification:notification_id',
    'DeviceSession:session_id',
    'PolicyAdoption:bundle_id',
  ]),
  ...of('sessions, runs, snapshots, events and signers have no name', [
    'Connection:session_id',
    'DeviceWitness:session_id',
    'AffectedDevice:session_id',
    'gatewayImpact:session_id',
    'DirectoryRun:snapshot_id',
    'DirectoryRunSummary:snapshot_id',
    'SiemDeadLetter:event_id',
    'Spc:issuer_id',
    'getSpc:issuer_id',
    'getWorkflowEvidence:request_id',
    'me:session_id',
  ]),
  ...of('the path of the request names it', ['DevicePosture:device_id', 'gatewayImpact:gateway_id']),
  ...of('it is not an id of a thing here', [
    'User:external_id',
    'Group:external_id',
    'getDirectoryRun:external_id',
    'DirectorySource:client_id',
    'LicenseStatus:deployment_id',
    'getDevicePosture:check_id',
    'SamlIdentityProvider:entity_id',
    'Spc:spiffe_id',
    'getSpc:spiffe_id',
    ...ofProviders('client_id', 'mobile_client_ids', 'entity_id', 'sp_entity_id'),
  ]),
  ...of('a PUT sends it back as it is', [...ofProviders('group_id'), 'ReleaseRollout:group_ids']),
  ...of('there may be 10,000 of them', [
    'getPolicyBundle:device_ids',
    'listPolicyBundles:device_ids',
    'exportOperations:device_ids',
  ]),
  ...of('it is a facet, whose values have names', ['listDeviceFacets:group_id', 'listUserFacets:group_id']),
  ...of('`username` stands beside it', [
    'AdminSession:user_id',
    'Grant:user_id',
    'me:user_id',
    'getView:user_id',
    'listViews:user_id',
  ]),
  ...of('the caller knows its own key', ['me:key_id']),
  ...of('another field has the name: `plan`, `subject_name`, the directory, the version', [
    'Tenant:plan_id',
    'LegalHold:user_id',
    'LegalHold:device_id',
    'DirectoryRun:source_id',
    'DirectoryRunSummary:source_id',
    'Package:release_id',
  ]),
}
function ofProviders(...properties: readonly string[]): string[] {
  const answers = ['getIdentityProvider', 'listIdentityProviders', 'exportOperations']
  return answers.flatMap((answer) => properties.map((property) => `${answer}:${property}`))
}
function of(reason: string, ids: readonly string[]): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [id, reason]))
}

/**
 * Returns the field with the name of an id's object: `user_id` → `user_name`, `group_ids` → `group_names`, `created_by`
 * → `created_by_name`.
 */
const nameBeside = (property: string): string | undefined => {
  const [, one] = /^(\w+)_id$/.exec(property) ?? []
  const [, many] = /^(\w+)_ids$/.exec(property) ?? []
  if (one !== undefined) return `${one}_name`
  if (many !== undefined) return `${many}_names`
  return /^\w+_by$/.test(property) ? `${property}_name` : undefined
}

function idsWithoutName(schema: Schema | undefined, owner: string, found: Set<string>): void {
  if (!schema) return
  const title = schema.title ?? owner
  for (const [property, part] of Object.entries(schema.properties ?? {})) {
    const beside = nameBeside(property)
    const isText = [part, ...(part.anyOf ?? [])].every((p) => p.properties === undefined && p.title !== 'Party')
    if (beside && isText && !(beside in (schema.properties ?? {}))) found.add(`${title}:${property}`)
    idsWithoutName(part, owner, found)
  }
  idsWithoutName(schema.items, owner, found)
  for (const part of schema.anyOf ?? []) idsWithoutName(part, owner, found)
}

test('every id in an answer to an administrator has its name beside it, or a reason why not', () => {
  const found = new Set<string>()
  for (const [name, e] of operations)
    if (e.method === 'GET' && e.path.startsWith('/v1/admin')) idsWithoutName(e.response as Schema, name, found)
  found.forEach((id) => {
    if (id.endsWith(':tenant_id')) found.delete(id)
  })
  const reasons = new Set(Object.keys(unnamed))
  assert.deepEqual(
    { withoutReason: [...found.difference(reasons)], unneeded: [...reasons.difference(found)] },
    {
      withoutReason: [],
      unneeded: [],
    },
  )
})
