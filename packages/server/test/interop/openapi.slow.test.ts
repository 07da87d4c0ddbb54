import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type Endpoint, type Operation, operations } from '@holdfast/contract'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import { decodeId, encodeId, newUuid } from '../../src/kernel/ids.ts'
import { type AllCallers, callerFor, createAllCallers, ownPeerChunk } from '../support/actors/all-callers.ts'
import { bearer, call, operation, sendToKit } from '../support/clients/api-calls.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { exampleQuery, fillPath } from '../support/domain/example-requests.ts'
import { directoryUsers, snapshotOf } from '../support/providers/directory-snapshots.ts'
import { judge, type Sample } from './openapi-samples.ts'
import { without } from './tools.ts'

/** A world in which no list is empty: it also has a directory and a metered session. */
async function createFullWorld(kit: Kit) {
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
  updateManifest: ({ device_id }) => `?platform=linux&arch=x64&version=1.0.0&device_id=${device_id}`,
}

/** Sends the request as the first kind of caller that is allowed. */
async function sample(
  kit: Kit,
  { callers, own }: AllCallers,
  name: string,
  e: Endpoint,
  ids: Record<string, string>,
): Promise<Sample> {
  const { by } = e.access
  const kind = (['api_key', 'device', 'gateway', 'session'] as const).find((k) => by !== 'anyone' && by.includes(k))
  const path = fillPath(e.path, ids)
  const query = queries[name]?.(ids) ?? exampleQuery(name as Operation)
  const caller = kind && callerFor(e, own, callers[kind])
  const got = await sendToKit(kit, e.method, path + query, caller?.(e.method, kit.publicUrl + path) ?? {})
  return { name, method: e.method.toLowerCase(), path: e.path, status: got.status, answer: got.json }
}

test('python-jsonschema accepts every schema of the API description as 2020-12, and every GET answers as described', {
  skip: without('python3-jsonschema'),
}, async (t) => {
  const kit = await startKit(t)
  const world = await createFullWorld(kit)
  const described = await sendToKit(kit, 'GET', '/v1/openapi.json', bearer(kit.adminKey)('GET', ''))
  assert.equal(described.json.openapi, '3.1.0')

  // Requests of a device between its sign-in and its enrollment are short-lived, and have tests of their own.
  const others: readonly string[] = ['openapiDocument', 'deviceCodeStatus']
  const isRead = (e: Endpoint) => e.method === 'GET' && !e.download && !e.stream && !e.begins
  const reads = operations.filter(([name, e]) => isRead(e) && !others.includes(name))
  const good: Sample[] = []
  for (const [name, e] of reads) good.push(await sample(kit, world, name, e, world.ids))
  for (const { name, status, answer } of good) {
    assert.equal(status, 200, name)
    if ('items' in answer) assert.notDeepEqual(answer.items, [], `${name}: there is something to look at`)
  }
  const missing = { ...world.ids, user_id: world.others.ids.user_id }
  const body = await call(kit, operation('changeUser'), bearer(kit.adminKey), { operation: 'create', user: {} })
  const bad: Sample[] = [
    await sample(kit, world, 'getUser', operation('getUser'), missing),
    { name: 'changeUser', method: 'post', path: operation('changeUser').path, status: body.status, answer: body.json },
  ]
  assert.deepEqual(
    bad.map((s) => s.status),
    [404, 422],
  )

  const schemas = await judge(described.json, [...good, ...bad])
  assert.ok(schemas > operations.length, `${schemas} schemas`)
})
