import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeId, encodeId } from '../../src/kernel/ids.ts'
import { enrollRaw, requestChallenge } from '../support/actors/devices.ts'
import { countOf, refused } from '../support/clients/answers.ts'
import { bearer, type Caller, call, operation } from '../support/clients/api-calls.ts'
import { cookieOf, send } from '../support/clients/raw-http.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { acme, janesPassword, makeTenant } from '../support/deployment/tenants.ts'
import { until } from '../support/deployment/wait-until.ts'

test('lifecycle of tenants', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await t.test('a tenant is created with its administrator and keys, and recorded in both tenants', () =>
    createTenant(kit),
  )
  await t.test('of twenty concurrent creations of one tenant on two replicas, one succeeds', () =>
    createConcurrently(kit),
  )
  await t.test('a renamed tenant is not found by its old name', () => renameTenant(kit))
  await t.test('the tenant of the deployment cannot be stopped, and callers cannot stop their own tenant', () =>
    refuseStops(kit),
  )
  await t.test('an API key for another tenant ends with the tenant of the administrator who created it', () =>
    useKeyForOtherTenant(kit),
  )
  await t.test('every credential of a suspended tenant is refused on every replica until it is reactivated', () =>
    suspendTenant(kit),
  )
})

async function createTenant(kit: Kit): Promise<void> {
  const made = await kit.admin.changeTenant({ body: acme })
  assert.deepEqual([made.changed, made.tenant.status, made.tenant.limits], [true, 'active', { users: 5 }])
  const { administrator } = made
  assert.ok(administrator?.secret)

  // A temporary password: it opens a session that has to set another one first.
  const signedIn = await send(kit.url, {
    method: 'POST',
    path: '/admin/login',
    json: { username: 'acme/jane', password: administrator.secret },
  })
  assert.equal(signedIn.status, 200, signedIn.text)
  assert.equal(signedIn.json.required_action, 'change_password')
  assert.equal((signedIn.json.user as { tenant_id: string }).tenant_id, made.tenant.tenant_id)

  const tenant_id = made.tenant.tenant_id
  const kindOf = async (query: object) =>
    (await kit.admin.listAuditEvents({ query: { kind: 'tenant.changed', ...query } })).items
  const [here] = await kindOf({})
  const [there] = await kindOf({ tenant_id })
  for (const event of [here, there]) {
    assert.equal(event?.actor.type, 'api_key')
    assert.deepEqual(event?.target, { type: 'tenant', id: tenant_id, name: 'acme' })
  }
  // Its own certificates, made for it.
  const theirs = await kit.admin.listAuditEvents({ query: { tenant_id, kind: 'user.changed' } })
  assert.equal(theirs.items[0]?.target?.name, 'jane')
  const { rows } = await kit.db.inTenant(decodeId('tenant', tenant_id) as typeof kit.tenant, async (tx) => ({
    rows: await tx
      .selectFrom('signing_keys')
      .select('purpose')
      .where('tenant_id', '=', decodeId('tenant', tenant_id) as typeof kit.tenant)
      .execute(),
  }))
  assert.equal(rows.length, 7)

  await assert.rejects(kit.admin.changeTenant({ body: acme }), refused(422, /tenant\.name: is already taken/))
  for (const name of ['Acme', 'a/b', '-a', 'a b', '', 'x'.repeat(64)])
    await assert.rejects(kit.admin.changeTenant({ body: { ...acme, tenant: { name } } }), refused(422))
  await assert.rejects(
    kit.admin.changeTenant({
      body: { ...acme, tenant: { name: 'weak' }, administrator: { username: 'joe', password: 'password' } },
    }),
    refused(422, /administrator\.password/),
  )
  assert.deepEqual(
    (await kit.admin.listTenants()).items.map((x) => x.name),
    ['acme', 'default'],
    'a refused creation leaves nothing',
  )
}

async function createConcurrently(kit: Kit): Promise<void> {
  const answers = await times(20, (i) =>
    call(
      kit.replicas[i % 2] ? { ...kit, ...kit.replicas[i % 2]! } : kit,
      operation('changeTenant'),
      bearer(kit.adminKey),
      {
        operation: 'create',
        tenant: { name: 'once' },
      },
    ),
  )
  assert.equal(
    countOf(
      answers.map((a) => a.status),
      201,
    ),
    1,
  )
  assert.equal(
    countOf(
      answers.map((a) => a.status),
      422,
    ),
    19,
  )
}

async function renameTenant(kit: Kit): Promise<void> {
  const { tenant } = await makeTenant(kit, 'renamed')
  const { tenant_id } = tenant
  const signIn = (username: string, replica = kit.replicas[1]!) =>
    send(replica.url, { method: 'POST', path: '/admin/login', json: { username, password: janesPassword } })
  assert.equal((await signIn('renamed/jane')).status, 200)
  await kit.admin.changeTenant({ body: { operation: 'update', tenant_id, tenant: { name: 'renamed-2' } } })
  await until(async () => (await signIn('renamed-2/jane')).status === 200)
  assert.equal((await signIn('renamed/jane')).status, 401)
  const again = await kit.admin.changeTenant({ body: { operation: 'create', tenant: { name: 'renamed' } } })
  assert.notEqual(again.tenant.tenant_id, tenant_id)
  await assert.rejects(
    kit.admin.changeTenant({
      body: { operation: 'update', tenant_id: encodeId('tenant', kit.tenant), tenant: { name: 'main' } },
    }),
    refused(422, /cannot be renamed/),
  )
}

async function refuseStops(kit: Kit): Promise<void> {
  const own = encodeId('tenant', kit.tenant)
  for (const name of ['suspend', 'delete'] as const)
    await assert.rejects(
      kit.admin.changeTenant({ body: { operation: name, tenant_id: own } }),
      refused(422, /cannot be suspended or deleted/),
    )
  const { id, tenant } = await makeTenant(kit, 'other')
  const other = kit.clientFor(await kit.keyFor('platform_admin', id))
  await assert.rejects(
    other.changeTenant({ body: { operation: 'suspend', tenant_id: tenant.tenant_id } }),
    refused(422, /your own tenant/),
  )
  const theirs = await kit.as('tenant_admin', id)
  await assert.rejects(
    theirs.changeTenant({ body: { operation: 'update', tenant_id: tenant.tenant_id, tenant: { limits: {} } } }),
    refused(403),
  )
  assert.deepEqual(
    (await theirs.listTenants()).items.map((x) => x.name),
    ['other'],
  )
}

async function useKeyForOtherTenant(kit: Kit): Promise<void> {
  const partner = await makeTenant(kit, 'partner')
  const customer = await makeTenant(kit, 'customer')
  const { userId } = await kit.app.identity.createUser(partner.id, {
    username: 'root',
    password: janesPassword,
    roles: ['platform_admin'],
  })
  const secret = await kit.app.access.createKeyFor(customer.id, { name: 'theirs', role: 'tenant_admin' })
  await kit.db.inTenant(customer.id, (tx) =>
    tx
      .updateTable('api_keys')
      .set({ owner_tenant_id: partner.id, owner_user_id: userId })
      .where('tenant_id', '=', customer.id)
      .where('name', '=', 'theirs')
      .execute(),
  )
  const statuses = () =>
    Promise.all(kit.replicas.map(async (r) => (await call({ ...kit, ...r }, operation('me'), bearer(secret))).status))
  assert.deepEqual(await statuses(), [200, 200])
  await kit.admin.changeTenant({ body: { operation: 'suspend', tenant_id: partner.tenant.tenant_id } })
  await until(async () => (await statuses()).every((s) => s === 401))
  await kit.admin.changeTenant({ body: { operation: 'reactivate', tenant_id: partner.tenant.tenant_id } })
  await until(async () => (await statuses()).every((s) => s === 200))
}

async function suspendTenant(kit: Kit): Promise<void> {
  const { tenant, client, id } = await makeTenant(kit, 'late')
  const key = await kit.keyFor('tenant_admin', id)
  const { secret: token } = await client.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token)
  const pool = await client.createGatewayPool({ body: { name: 'p', region: { code: 'eu' } } })
  const gateway = await client.createGateway({ params: { pool_id: pool.pool_id }, body: { name: 'g' } })
  const service = bearer(kit.secrets.gatewayServiceSecrets[0]!)
  const challenge = bearer(await requestChallenge(kit, bearer(token)))
  const jane = { username: 'late/jane', password: janesPassword }
  const signIn = () => send(kit.url, { method: 'POST', path: '/admin/login', json: jane })
  const cookie = cookieOf(await signIn())
  const session: Caller = () => ({ cookie, origin: kit.publicUrl })
  const callers = [
    ['getSecuritySettings', bearer(key), ''],
    ['me', session, ''],
    ['listEnrollmentProviders', challenge, ''],
    ['policyDigest', device.caller, ''],
    ['gatewayTrustAnchors', bearer(gateway.secret), ''],
    ['listEnrollmentProviders', bearer(token), ''],
    ['gatewayTrustAnchors', service, `?tenant_id=${tenant.tenant_id}&gateway_id=${gateway.gateway.gateway_id}`],
  ] as const
  const statuses = async () => {
    const found = []
    for (const replica of kit.replicas)
      for (const [name, caller, query] of callers)
        found.push((await call({ ...kit, ...replica }, operation(name), caller, undefined, query)).status)
    return new Set(found)
  }
  assert.deepEqual(
    [...(await statuses())].filter((s) => s === 401),
    [],
  )

  const known = await call(kit, operation('policyDigest'), device.caller)
  const etag = String(known.headers.etag)
  const patient: Caller = (method, url) => ({ ...device.caller(method, url), prefer: 'wait=30', 'if-none-match': etag })
  const waiting = call(kit, operation('policyDigest'), patient)
  const suspended = await kit.admin.changeTenant({
    body: { operation: 'suspend', tenant_id: tenant.tenant_id, reason: 'unpaid' },
  })
  assert.equal(suspended.tenant.status, 'suspended')
  const since = performance.now()
  await until(async () => [...(await statuses())].every((s) => s === 401))
  assert.ok(performance.now() - since < 5_000)
  // A waiting request is answered, and the next one is refused.
  const asked = performance.now()
  await waiting
  assert.ok(performance.now() - asked < 10_000, 'the held request ends')
  assert.equal(
    (await enrollRaw(kit, token).catch((e: Error) => e.message)).toString().slice(0, 23),
    'enrollment refused: 401',
  )
  const refused = await kit.admin.listAuditEvents({ query: { tenant_id: tenant.tenant_id, kind: 'api_key.refused' } })
  assert.equal((refused.items[0] as { reason?: string } | undefined)?.reason, 'tenant_suspended')

  assert.equal((await signIn()).status, 401)
  // An administrator of the deployment may still read it.
  assert.ok((await kit.admin.listDevices({ query: { tenant_id: tenant.tenant_id } })).items.length > 0)
  const twice = await kit.admin.changeTenant({ body: { operation: 'suspend', tenant_id: tenant.tenant_id } })
  assert.equal(twice.changed, false)
  await kit.admin.changeTenant({ body: { operation: 'reactivate', tenant_id: tenant.tenant_id } })
  await until(async () => [...(await statuses())].every((s) => s !== 401))
}
