import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Endpoint, operations } from '@holdfast/contract'
import { type AllCallers, callerFor } from '../support/actors/all-callers.ts'
import { createFullWorld, readQuery } from '../support/actors/full-world.ts'
import { bearer, call, operation, sendToKit } from '../support/clients/api-calls.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { fillPath } from '../support/domain/example-requests.ts'
import { judge, type Sample } from './openapi-samples.ts'
import { without } from './tools.ts'

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
  const query = readQuery(name, ids)
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
