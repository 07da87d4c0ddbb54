import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Operation } from '@holdfast/contract'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import { decodeId, encodeId, newUuid } from '../../../src/kernel/ids.ts'
import { bearer, call, operation, sendToKit } from '../clients/api-calls.ts'
import type { Kit } from '../deployment/deployment.ts'
import { exampleQuery } from '../domain/example-requests.ts'
import { directoryUsers, snapshotOf } from '../providers/directory-snapshots.ts'
import { createAllCallers, ownPeerChunk } from './all-callers.ts'

/** A world in which no list is empty: it also has a directory and a metered session. */
export async function createFullWorld(kit: Kit) {
  const world = await createAllCallers(kit)
  const session_id = encodeId('vpn_session', newUuid())
  const device_id = world.own.ids.device_id
  const started_at = new Date(Date.now() - 60_000).toISOString()
  const metered = await call(kit, operation('metering'), world.callers.gateway, {
    report_id: 'r1',
    boot_id: 'b1',
    sequence: 1,
    interval_start: started_at,
    interval_end: new Date().toISOString(),
    samples: [{ session_id, device_id, state: 'active', rx_bytes: 1, tx_bytes: 2, started_at }],
  })
  assert.deepEqual([metered.status, metered.json.accepted], [200, 1], metered.text)
  await kit.admin.ingestDirectorySnapshot({ body: snapshotOf(directoryUsers(1)) })
  const { user_id, provider_id } = world.own.ids
  await kit.admin.linkUserIdentity({ params: { user_id }, body: { provider_id, subject: '1' } })
  // Enabled without any request to the provider, which has an address for documentation.
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('identity_providers')
      .set({ enabled: true, enrollment: true })
      .where('tenant_id', '=', kit.tenant)
      .execute(),
  )
  const { tenant_id } = world.own.ids
  await kit.admin.changeTenant({ body: { operation: 'update', tenant_id, tenant: { limits: { gateways: 1 } } } })
  const { event_id, connector_id, workflow_run_id } = world.own.ids
  // Evidence exists only for a run that has ended.
  await kit.admin.changeWorkflowRun({ params: { workflow_run_id }, body: { operation: 'cancel' } })
  await kit.admin.proveAuditEvent({ params: { event_id } })
  const place = { tenant_id: kit.tenant, connector_id: decodeId('siem_connector', connector_id)!, seq: 1 }
  const refused = {
    event_id: decodeId('audit_event', event_id)!,
    kind: 'user.changed',
    reason: 'too large',
    failed_at: new Date(),
  }
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .insertInto('siem_dead_letters')
      .values({ ...place, ...refused })
      .execute(),
  )
  const scim = { resource_type: 'User', schema_urn: scimUrns.user }
  const exported = await sendToKit(kit, 'GET', '/v1/admin/audit/export?format=csv', bearer(kit.adminKey)('GET', ''))
  const sha256 = createHash('sha256').update(exported.text).digest('hex')
  return {
    ...world,
    ids: {
      ...world.own.ids,
      ...scim,
      session_id,
      digest: await ownPeerChunk(kit, world),
      file: 'timestamp.json',
      sha256,
    },
  }
}

/** Queries that some reads require. */
const queries: Record<string, (ids: Record<string, string>) => string> = {
  search: () => '?q=a',
  proveAuditConsistency: () => '?from=1&to=1',
  getAuditExportManifest: ({ sha256 }) => `?sha256=${sha256}`,
  gatewayPolicyBundle: ({ device_id }) => `?device_id=${device_id}`,
  postureAssertion: ({ device_id }) => `?device_id=${device_id}`,
  updatePackage: ({ package_id }) => `?target=${package_id}`,
  updateManifest: ({ device_id }) => `?platform=linux&arch=x64&version=1.0.0&device_id=${device_id}`,
}

/** The query with which a read answers 200. */
export const readQuery = (name: string, ids: Record<string, string>): string =>
  queries[name]?.(ids) ?? exampleQuery(name as Operation)
