import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Contract, Input, Output } from '@holdfast/contract'
import { exportKinds } from '@holdfast/contract/ops-export'
import type { Client } from '@holdfast/sdk'
import { makeGateway } from '../support/actors/gateways.ts'
import { makeSampleObjects } from '../support/actors/sample-objects.ts'
import { refused } from '../support/clients/answers.ts'
import { startCommand } from '../support/clients/cli-command.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

type Kind = Input<Contract['exportOperations']>['query']['kind']
type Item = Output<Contract['exportOperations']>['items'][number]

async function exported(client: Client, kind: Kind, limit = 3): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await client.exportOperations({ query: { kind, limit, ...(cursor && { cursor }) } })
    assert.ok(page.items.length <= limit)
    items.push(...page.items)
    if (page.next_cursor === null) return items
    cursor = page.next_cursor
  }
}

test('an export contains each object once, as in its own list, page by page', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  await makeSampleObjects(kit, admin)
  await times(3, (i) => makeGateway(kit, `g${i}`))
  const { pool } = await makeGateway(kit, 'first')
  for (const name of ['second', 'third', 'fourth'])
    await admin.createGateway({ params: { pool_id: pool.pool_id }, body: { name } })
  const inventory = await exported(admin, 'inventory')
  const of = (type: Item['type']) => inventory.filter((item) => item.type === type).map((item) => item[type])
  assert.deepEqual(of('group'), (await admin.listGroups({ query: { limit: 200 } })).items)
  assert.deepEqual(of('user'), (await admin.listUsers({ query: { limit: 200 } })).items)
  assert.deepEqual(of('device'), (await admin.listDevices({ query: { limit: 200 } })).items)
  assert.deepEqual(of('gateway_pool'), (await admin.listGatewayPools({ query: { limit: 200 } })).items)
  const gateways = of('gateway').map((g) => (g as { gateway_id: string }).gateway_id)
  assert.equal(gateways.length, new Set(gateways).size)
  assert.ok(gateways.length >= 7)
  const lockOf = async (id: string) => {
    const body = { target: { type: 'gateway' as const, id }, reason: 'stolen' }
    return (await admin.createLock({ body })).lock
  }
  const [kept, released] = [await lockOf(gateways[0]!), await lockOf(gateways[1]!)]
  await admin.releaseLock({ params: { lock_id: released.lock_id }, body: {} })
  const diagnostics = await exported(admin, 'diagnostics', 1)
  const locks = diagnostics.flatMap(({ lock }) => (lock ? [lock.lock_id] : []))
  assert.deepEqual([locks.includes(kept.lock_id), locks.includes(released.lock_id)], [true, false])
  const health = diagnostics.flatMap(({ gateway_health: h }) => (h ? [`${h.gateway_id} ${h.status}`] : []))
  const shown = (await admin.gatewayHealth({ query: { limit: 200 } })).items
  assert.deepEqual(
    health,
    shown.map((h) => `${h.gateway_id} ${h.status}`),
  )
  const configuration = await exported(admin, 'configuration')
  assert.deepEqual(configuration[0]?.security_settings, await admin.getSecuritySettings())
  for (const kind of Object.keys(exportKinds) as Kind[]) {
    const found = new Set((await exported(admin, kind, 200)).map((item) => item.type))
    for (const type of exportKinds[kind])
      assert.ok(
        found.has(type) || ['notification', 'expiry', 'directory_run', 'grant'].includes(type),
        `${kind}: ${type}`,
      )
  }
})

test('an export contains what its caller may read, and no secret', async (t) => {
  const kit = await startKit(t)
  const { secret } = await makeGateway(kit, 'one')
  const { secret: token } = await kit.admin.generateToken({ body: { name: 'one' } })
  const all = JSON.stringify([await exported(kit.admin, 'inventory'), await exported(kit.admin, 'configuration')])
  for (const [name, text] of Object.entries({ secret, token, key: kit.adminKey })) assert.ok(!all.includes(text), name)
  assert.ok(!/digest"|_jwe|password_phc/.test(all.replaceAll(/"(policy_|previous_|applied_policy_)?digest"/g, '')))
  const viewer = await kit.as('viewer')
  const { left_out } = await viewer.exportOperations({ query: { kind: 'inventory' } })
  assert.deepEqual(left_out, ['gateway_pool', 'gateway', 'enrollment_token', 'api_key', 'release'])
  assert.ok((await exported(viewer, 'inventory')).every((item) => !left_out.includes(item.type)))
  assert.ok((await viewer.exportOperations({ query: { kind: 'diagnostics' } })).left_out.includes('lock'))
  await assert.rejects(
    viewer.exportOperations({ query: { kind: 'inventory', cursor: 'api_key.' } }),
    refused(400, /does not belong to this export/),
  )
  const helpdesk = await kit.as('helpdesk')
  await assert.rejects(helpdesk.exportOperations({ query: { kind: 'inventory' } }), refused(403))
  const elsewhere = await kit.as('tenant_admin', await kit.newTenant())
  const theirs = JSON.stringify(await exported(elsewhere, 'inventory'))
  assert.ok(!theirs.includes('"one"'), 'of their own tenant only')
})

test('the command prints the export line by line', async (t) => {
  const kit = await startKit(t)
  const { run } = await startCommand(t, kit)
  const { code, out } = await run('ops', 'export', '--kind', 'inventory')
  assert.equal(code, 0)
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Item)
  assert.ok(lines.some((item) => item.user?.username === 'admin'))
})
