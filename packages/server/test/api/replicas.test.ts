import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { type Kit, type Replica, startKit } from '../kit.ts'
import { promptly } from '../promptly.ts'
import { call, createWorld, enrollRaw, operation, type RawDevice } from '../world.ts'

const digest = operation('policyDigest')
const on = (kit: Kit, replica: Replica): Kit => ({ ...kit, ...replica })
const ask = async (kit: Kit, replica: Replica, device: RawDevice) =>
  (await call(on(kit, replica), digest, device.caller)).status

/** Asks again and again until the answer is as expected. */
async function until(status: number, question: () => Promise<number>): Promise<void> {
  const start = performance.now()
  for (;;) {
    if ((await question()) === status) return
    if (performance.now() - start > promptly) assert.fail(`not ${status} within ${promptly} ms`)
  }
}

/** Ends every listening connection of the deployment, as a failing network would. */
async function cutFeeds(kit: Kit): Promise<number> {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  const { rowCount } = await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'holdfast feed'",
  )
  await client.end()
  return rowCount ?? 0
}

test('what one replica revokes the other refuses at once, also when its feed was cut', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const [first, second] = kit.replicas as [Replica, Replica]
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  for (const cut of [false, true]) {
    const device = await enrollRaw(kit, token, `device ${cut}`)
    assert.equal(await ask(kit, first, device), 200)
    assert.equal(await ask(kit, second, device), 200, 'at once where it did not enroll')
    if (cut) assert.ok((await cutFeeds(kit)) >= 1)
    await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: device.id } })
    assert.equal(await ask(kit, first, device), 401, 'at once where it was revoked')
    await until(401, () => ask(kit, second, device))
  }
})

test('the same for API keys, sessions, gateway secrets and users', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const [, second] = kit.replicas as [Replica, Replica]
  const world = await createWorld(kit)
  const asked = async (
    name: 'listUsers' | 'gatewayTrustAnchors' | 'me',
    caller: (m: string, u: string) => Record<string, string>,
  ) => (await call(on(kit, second), operation(name), caller)).status

  const { secret, api_key } = await kit.admin.createApiKey({ body: { name: 'k', role: 'viewer' } })
  const withKey = () => asked('listUsers', () => ({ authorization: `Bearer ${secret}` }))
  await until(200, withKey)
  await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id } })
  await until(401, withKey)

  const withGateway = () => asked('gatewayTrustAnchors', world.callers.gateway)
  await until(200, withGateway)
  await kit.admin.deleteGateway({ params: { gateway_id: world.own.ids.gateway_id } })
  await until(401, withGateway)

  const withSession = () => asked('me', world.callers.session)
  await until(200, withSession)
  assert.equal((await call(kit, operation('logout'), world.callers.session, undefined)).status, 200)
  await until(401, withSession)
})

test('while the database does not answer nothing remembered is served; then it is again', async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token)
  const [only] = kit.replicas as [Replica]
  assert.equal(await ask(kit, only, device), 200)

  const admin = new pg.Client({ connectionString: kit.databaseUrl.replace(/\/[^/?]+(\?|$)/, '/postgres$1') })
  await admin.connect()
  const name = decodeURIComponent(new URL(kit.databaseUrl.replace('@/', '@x/')).pathname.slice(1))
  await admin.query(`alter database ${name} allow_connections false`)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  await until(500, () => ask(kit, only, device))
  const ready = await call(kit, operation('ready'), null)
  assert.deepEqual([ready.status, (await call(kit, operation('health'), null)).status], [503, 200])
  const refused = await call(kit, digest, device.caller)
  assert.deepEqual([refused.json.error, refused.headers['retry-after']], ['internal_error', '2'])

  await admin.query(`alter database ${name} allow_connections true`)
  await admin.end()
  await until(200, () => ask(kit, only, device))
  await until(200, async () => (await call(kit, operation('ready'), null)).status)
})
