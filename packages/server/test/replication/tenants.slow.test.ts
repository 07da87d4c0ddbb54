// Own process: it replaces the query function of the database client.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import type { TenantId } from '../../src/kernel/actor.ts'
import { enrollRaw } from '../support/actors/devices.ts'
import { call, operation } from '../support/clients/api-calls.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

const tenantCount = 200

/** Counts how often the fleet of each tenant is read. */
function watchLoads(t: TestContext) {
  const loads = new Map<string, number>()
  const scopes = new WeakMap<object, string>()
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
    const [first] = given as readonly unknown[]
    const text = typeof first === 'string' ? first : ((first as { text?: string } | undefined)?.text ?? '')
    const scope = /holdfast\.tenant = '([^']+)'/.exec(text)?.[1]
    if (scope) scopes.set(this, scope)
    else if (/from devices join tenant_epochs/.test(text)) {
      const tenant = scopes.get(this) ?? ''
      loads.set(tenant, (loads.get(tenant) ?? 0) + 1)
    }
    return Reflect.apply(query, this, given)
  } as typeof query
  t.after(() => {
    pg.Client.prototype.query = query
  })
  return loads
}

test('a tenant is loaded at its first request, once, and unloaded when no request uses or awaits it', async (t) => {
  const loads = watchLoads(t)
  const idleMs = 300
  const kit = await startKit(t, { replicas: 2, idleMs })
  assert.equal(loads.get(kit.tenant), 2, 'a start with one tenant reads it, and there were two')
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token)
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  const { rows } = await owner.query<{ tenant_id: TenantId }>(
    `insert into tenants (tenant_id, name, canary_salt) select gen_random_uuid(), 'tenant-' || i, ''
     from generate_series(2, $1) as i returning tenant_id`,
    [tenantCount],
  )
  await owner.query('insert into tenant_epochs (tenant_id) select tenant_id from tenants on conflict do nothing')
  await owner.end()
  const tenants = rows.map((row) => row.tenant_id)

  loads.clear()
  const { app, url, dispatcher } = await kit.startReplica()
  assert.deepEqual([...loads], [], `a start with ${tenantCount} tenants reads none`)

  for (let i = 0; i < tenants.length; i += 20)
    await Promise.all(tenants.slice(i, i + 20).map((tenant) => times(20, () => app.fleet.all(tenant))))
  assert.equal(loads.size, tenants.length)
  assert.deepEqual([...new Set(loads.values())], [1], 'each is read once for its 20 callers')

  const path = operation('policyDigest')
  const onIt = { ...kit, app, url, dispatcher }
  const first = await call(onIt, path, device.caller)
  assert.equal(first.status, 200)
  const tag = String(first.headers.etag)
  const held = call(onIt, path, (m, u) => ({ ...device.caller(m, u), 'if-none-match': tag, prefer: 'wait=5' }))
  await until(() => app.policy.isAwaited(kit.tenant))
  const left = await until(() => app.fleet.held() === 1, 'tenants that nobody asks for')
  const before = loads.get(kit.tenant)
  assert.equal((await held).status, 304)
  assert.equal(loads.get(kit.tenant), before, 'a held request keeps its tenant loaded')
  await until(() => app.fleet.held() === 0, 'the tenant that nobody waits for any more')
  t.diagnostic(
    `${tenantCount} tenants; read at the start: 0; all but the awaited one left after ${Math.round(left)} ms`,
  )

  loads.clear()
  assert.equal((await call(onIt, path, device.caller)).status, 200)
  assert.deepEqual([...loads], [[kit.tenant, 1]], 'and is read again')
})
