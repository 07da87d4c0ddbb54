import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { call, createWorld, enrollRaw, operation, type RawDevice } from '../support/actors/all-callers.ts'
import { untilStatus } from '../support/actors/people.ts'
import { type Kit, type Replica, startKit } from '../support/deployment/deployment.ts'

const digest = operation('policyDigest')
const on = (kit: Kit, replica: Replica): Kit => ({ ...kit, ...replica })
const ask = (kit: Kit, replica: Replica, device: RawDevice) => call(on(kit, replica), digest, device.caller)

/** Ends every listening connection of the deployment, as a network failure would. */
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
    assert.equal((await ask(kit, first, device)).status, 200)
    assert.equal((await ask(kit, second, device)).status, 200, 'at once where it did not enroll')
    if (cut) assert.ok((await cutFeeds(kit)) >= 1)
    await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: device.id } })
    assert.equal((await ask(kit, first, device)).status, 401, 'at once where it was revoked')
    await untilStatus(() => ask(kit, second, device), 401)
  }
})

test('the same for API keys, sessions, gateway secrets and users', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const [, second] = kit.replicas as [Replica, Replica]
  const world = await createWorld(kit)
  const asked = (
    name: 'listUsers' | 'gatewayTrustAnchors' | 'me',
    caller: (m: string, u: string) => Record<string, string>,
  ) => call(on(kit, second), operation(name), caller)

  const { secret, api_key } = await kit.admin.createApiKey({ body: { name: 'k', role: 'viewer' } })
  const withKey = () => asked('listUsers', () => ({ authorization: `Bearer ${secret}` }))
  await untilStatus(withKey, 200)
  await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id } })
  await untilStatus(withKey, 401)

  const withGateway = () => asked('gatewayTrustAnchors', world.callers.gateway)
  await untilStatus(withGateway, 200)
  await kit.admin.deleteGateway({ params: { gateway_id: world.own.ids.gateway_id } })
  await untilStatus(withGateway, 401)

  const withSession = () => asked('me', world.callers.session)
  await untilStatus(withSession, 200)
  assert.equal((await call(kit, operation('logout'), world.callers.session, undefined)).status, 200)
  await untilStatus(withSession, 401)
})

test('while the database does not answer nothing remembered is served; then it is again', async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token)
  const [only] = kit.replicas as [Replica]
  assert.equal((await ask(kit, only, device)).status, 200)

  const admin = new pg.Client({ connectionString: kit.databaseUrl.replace(/\/[^/?]+(\?|$)/, '/postgres$1') })
  await admin.connect()
  const name = decodeURIComponent(new URL(kit.databaseUrl.replace('@/', '@x/')).pathname.slice(1))
  await admin.query(`alter database ${name} allow_connections false`)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  await untilStatus(() => ask(kit, only, device), 500)
  const ready = () => call(kit, operation('ready'), null)
  await untilStatus(ready, 503)
  assert.equal((await call(kit, operation('health'), null)).status, 200)
  const refused = await call(kit, digest, device.caller)
  assert.deepEqual([refused.json.error, refused.headers['retry-after']], ['internal_error', '2'])

  await admin.query(`alter database ${name} allow_connections true`)
  await admin.end()
  await untilStatus(() => ask(kit, only, device), 200)
  await untilStatus(ready, 200)
})
