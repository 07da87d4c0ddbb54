import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract, type Endpoint, type Operation, operations } from '@holdfast/contract'
import { encodeId } from '../../src/kernel/ids.ts'
import { objectKinds } from '../support/actors/sample-objects.ts'
import type { ApiAnswer } from '../support/clients/api-calls.ts'
import { type Kit, loopbackAllowed, startKit } from '../support/deployment/deployment.ts'
import { createHere, type Here } from './here.ts'
import { createWrite } from './writes.ts'

const writes = operations.filter(([, e]) => e.method !== 'GET')
const limited = ['users', 'devices', 'gateways', 'api_keys'] as const

/** Sends a request while the tenant has no room for anything. */
async function withoutRoom(kit: Kit, send: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  const tenant_id = encodeId('tenant', kit.tenant)
  const setLimits = (limit: 0 | null) => {
    const limits = Object.fromEntries(limited.map((metric) => [metric, limit]))
    return kit.admin.changeTenant({ body: { operation: 'update', tenant_id, tenant: { limits } } })
  }
  await setLimits(0)
  const answer = await send()
  await setLimits(null)
  return answer
}

/** Returns each answer of an operation without room: of each lifecycle operation that may add something. */
async function answersWithoutRoom(kit: Kit, world: Here, name: Operation, e: Endpoint): Promise<ApiAnswer[]> {
  if (!e.operations) {
    const { send } = await createWrite(kit, world, name)
    return [await withoutRoom(kit, send)]
  }
  const isBatch = name === 'changeDevices'
  const noun = isBatch ? 'device' : name.slice('change'.length).toLowerCase()
  const answers: ApiAnswer[] = []
  for (const operation of ['create', 'reactivate'].filter((o) => Object.hasOwn(e.operations ?? {}, o))) {
    const { ids, send } = await createWrite(
      kit,
      world,
      name,
      objectKinds.filter((kind) => kind === `${noun}_id`),
    )
    const id = ids[`${noun}_id` as keyof typeof ids]
    const which = isBatch ? { device_ids: [id] } : { [`${noun}_id`]: id }
    if (operation === 'reactivate') await send({ operation: 'suspend', ...which })
    const body = operation === 'create' ? undefined : { operation, ...which }
    answers.push(await withoutRoom(kit, () => send(body)))
  }
  return answers
}

test('every write that a plan limit refuses declares it, and names the limit', async (t) => {
  const kit = await startKit(t, { config: loopbackAllowed })
  const world = await createHere(kit)
  const refused = new Set<string>()
  const wrong: string[] = []
  for (const [name, e] of writes)
    for (const { status, text } of await answersWithoutRoom(kit, world, name, e)) {
      if (status !== 409) continue
      refused.add(name)
      const errors: readonly string[] = (contract[name] as Endpoint).errors ?? []
      if (!errors.includes('entitlement_exceeded')) wrong.push(`${name} does not declare it`)
      if (!/in use|limit of its plan for users or devices/.test(text)) wrong.push(`${name}: ${text.slice(0, 200)}`)
    }
  assert.deepEqual(wrong, [])
  assert.deepEqual([...refused].sort(), [
    ...['changeDevice', 'changeDevices', 'changeUser', 'createApiKey', 'createGateway', 'createScimUser', 'enroll'],
    ...['enrollByDeviceCode', 'enrollByOidc', 'enrollBySaml', 'reactivateUser', 'undoDirectoryRun'],
  ])
})
