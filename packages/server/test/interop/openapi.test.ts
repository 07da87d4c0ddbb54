import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '@holdfast/contract'
import { bearer, call, fill, populate } from '../support/actors/all-callers.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { judge, type Sample } from './openapi-samples.ts'
import { without } from './tools.ts'

const asked = ['me', 'listUsers', 'getUser', 'getGatewayPool', 'listAuditEvents', 'getSecuritySettings'] as const

// openapi.slow.test.ts checks every operation.
test('python-jsonschema takes schemas of the API description as 2020-12, and a few operations answer as described', {
  skip: without('python3-jsonschema'),
}, async (t) => {
  const kit = await startKit(t)
  const { ids } = await populate(kit, kit.admin, ['user_id', 'pool_id'])
  const caller = bearer(kit.adminKey)
  const samples: Sample[] = []
  const sample = async (name: keyof typeof contract, wanted: number, given: Record<string, string>, body?: object) => {
    const { method, path } = contract[name]
    const { status, json } = await call(kit, { method, path: fill(path, given) }, caller, body)
    assert.equal(status, wanted, name)
    samples.push({ name, method: method.toLowerCase(), path, status, answer: json })
  }
  for (const name of asked) await sample(name, 200, ids)
  await sample('getUser', 404, { user_id: 'usr_01jxz3c9dqf7vr2m8k4s6t0b5w' })
  await sample('changeUser', 422, {}, { operation: 'create', user: {} })

  const { json } = await call(kit, contract.openapiDocument, caller)
  assert.equal(json.openapi, '3.1.0')
  const paths = json.paths as Record<string, object>
  const ofThese = Object.fromEntries(samples.map(({ path }) => [path, paths[path]!]))
  // The components of the description are those of all operations.
  assert.ok((await judge({ ...json, paths: ofThese }, samples)) > 10)
})
