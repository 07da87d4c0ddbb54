import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { createProof } from '@holdfast/crypto'
import { type Client, changeSecuritySettings, createClient, openGateway, signIn } from '@holdfast/sdk'
import pg from 'pg'
import {
  bearer,
  type Caller,
  call,
  enrollRaw,
  operation,
  type Raw,
  type RawDevice,
  type Reached,
} from '../support/actors/all-callers.ts'
import { createAuthenticator, untilNextStep } from '../support/actors/people.ts'
import { dispatcherTo, times } from '../support/deployment/deployment.ts'
import { assertOneASecond } from '../support/deployment/request-rate.ts'
import { password, startDeployment } from '../support/deployment/server-processes.ts'
import { until } from '../support/deployment/wait-until.ts'

const publicUrl = 'http://holdfast.test'
const tenMinutes = 600_000
const second = 1000

test('a replica whose clock is ten minutes ahead and one ten minutes behind store and judge by the database', async (t) => {
  const { database, start } = await startDeployment(t)
  const preload = `--import=${pathToFileURL(join(import.meta.dirname, 'wall-clock.ts')).href}`
  const [ahead, behind] = await Promise.all(
    [tenMinutes, -tenMinutes].map(async (offset) => {
      const environment = {
        HOLDFAST_PUBLIC_URL: publicUrl,
        NODE_OPTIONS: preload,
        HOLDFAST_TEST_CLOCK_MS: String(offset),
      }
      const { port, output } = await start(database.url, environment)
      const [, said = ''] = /wall clock: (\S+)/.exec(output()) ?? []
      assert.ok(Math.abs(Date.parse(said) - Date.now() - offset) < 60 * second, `its clock says ${said}`)
      const dispatcher = dispatcherTo(`http://127.0.0.1:${port}`)
      t.after(() => dispatcher.destroy())
      return { publicUrl, dispatcher } satisfies Reached
    }),
  )
  assert.ok(ahead && behind)
  const both = [ahead, behind]
  const asked: string[] = []
  /** Asserts that both replicas answer as wanted; the one whose clock is ahead comes first. */
  const answers = async (what: string, ask: (of: Reached) => Promise<unknown>, wanted: unknown) => {
    const got = [await ask(ahead), await ask(behind)]
    asked.push(`${what}: ${JSON.stringify(got)}`)
    assert.deepEqual(got, [wanted, wanted], what)
  }
  const statusOf = (name: Parameters<typeof operation>[0], caller: Caller, body?: unknown) => async (of: Reached) =>
    (await call(of, operation(name), caller, body)).status
  const near = (what: string, text: unknown, ms: number) => {
    const off = Date.parse(String(text)) - Date.now() - ms
    assert.ok(Math.abs(off) < 30 * second, `${what} is off by ${off} ms`)
  }

  // Sessions, one-time codes, step-up.
  await delay(Math.max(0, untilNextStep() - 20 * second))
  const signedIn = await signIn({ baseUrl: publicUrl, username: 'admin', password, dispatcher: behind.dispatcher })
  const { secret: key } = await signedIn.client.createApiKey({ body: { name: 'key', role: 'platform_admin' } })
  await changeSecuritySettings(signedIn.client, {
    login: { lockout_threshold: 3, lockout_seconds: 300, max_failures_per_ip: 10_000 },
  })
  let cookie = signedIn.cookie
  const session: Caller = () => ({ cookie, origin: publicUrl })
  await answers('a session opened by the one behind', statusOf('me', session), 200)
  const { json: me } = await call(ahead, operation('me'), session)
  near('the end of the session', (me.session as { expires_at: string }).expires_at, 43_200 * second)
  const begun = await call(ahead, operation('enrollTotp'), session, { current_password: password })
  const app = createAuthenticator(String(begun.json.secret))
  for (const far of [-20, 20])
    await answers(
      `a code of ${far / 2} minutes from now`,
      statusOf('verifyTotp', session, { code: app.code(far) }),
      422,
    )
  const verified = await call(behind, operation('verifyTotp'), session, { code: app.code() })
  assert.equal(verified.status, 200, verified.text)
  const renewed = (answer: Raw) => {
    cookie = String(answer.headers['set-cookie']).split(';')[0] ?? ''
  }
  renewed(verified)
  const { json: settings } = await call(ahead, operation('getSecuritySettings'), session)
  const strict = { ...settings, mfa: { ...(settings.mfa as object), step_up: true } }
  assert.equal(await statusOf('updateSecuritySettings', session, strict)(ahead), 200)
  const settingsAre = async (section: string, name: string, wanted: unknown) => {
    for (const of of both)
      await until(async () => {
        await delay(100)
        const { json } = await call(of, operation('getSecuritySettings'), session)
        return (json[section] as Record<string, unknown> | undefined)?.[name] === wanted
      }, `${section}.${name}`)
  }
  await settingsAre('mfa', 'step_up', true)
  const { user: ana } = await createClient({
    baseUrl: publicUrl,
    credential: key,
    dispatcher: behind.dispatcher,
  }).changeUser({
    body: { operation: 'create', user: { username: 'ana' } },
  })
  const grant = statusOf('grantRole', session, { user_id: ana.user_id, role: 'viewer' })
  await answers('a dangerous change without a step-up', grant, 403)
  const stepped = await call(behind, operation('stepUp'), session, { code: app.code(1) })
  assert.equal(stepped.status, 200, stepped.text)
  near('the end of the step-up', stepped.json.stepped_up_until, 300 * second)
  renewed(stepped)
  // The first request creates the grant, and the second finds it.
  assert.deepEqual([await grant(ahead), await grant(behind)], [201, 200], 'the same after a step-up at the one behind')

  const clients = both.map(({ dispatcher }) => createClient({ baseUrl: publicUrl, credential: key, dispatcher })) as [
    Client,
    Client,
  ]
  // Keys and tokens that expire.
  const body = { role: 'viewer', expires_in_seconds: 300 } as const
  const made = await Promise.all(
    [0, 0, 1, 1].map((c, i) => clients[c as 0 | 1].createApiKey({ body: { ...body, name: `key ${i}` } })),
  )
  for (const { api_key } of made) near('the end of a key', api_key.expires_at, 300 * second)
  // Two of the keys expire within a second; the API only allows longer periods.
  const owner = new pg.Client({ connectionString: database.url })
  await owner.connect()
  owner.on('error', () => {})
  await owner.query(`update api_keys set expires_at = now() + interval '1 second' where name in ('key 1', 'key 3')`)
  const tokens = await Promise.all(
    clients.map((c) => c.generateToken({ body: { max_uses: 0, expires_in_seconds: 300 } })),
  )
  await delay(1200)
  for (const [i, { secret }] of made.entries())
    await answers(
      `a key that ${i % 2 ? 'ended 0.2 s ago' : 'ends in 5 minutes'}`,
      statusOf('listDevices', bearer(secret)),
      i % 2 ? 401 : 200,
    )

  // Devices: enrollment, credential, proofs, reports.
  const devices = await Promise.all(tokens.map(({ secret: token }, i) => enrollRaw(both[1 - i]!, token, `device ${i}`)))
  for (const device of devices) {
    await answers('a device credential', statusOf('policyDigest', device.caller), 200)
    const provenAt =
      (ms: number): Caller =>
      (method, url) => ({
        authorization: `Bearer ${device.credential}`,
        dpop: createProof(device.key, { method, url, accessToken: device.credential, now: new Date(Date.now() + ms) }),
      })
    for (const ms of [-tenMinutes, tenMinutes])
      await answers(`a proof made ${ms / 60_000} minutes from now`, statusOf('policyDigest', provenAt(ms)), 401)
  }
  const posture_checks = {
    disk: { expression: 'disk.encrypted', enforcement: 'enforce', freshness_seconds: 300 },
  } as const
  const rules = [
    { id: 'gated', action: 'allow', from: { any: true }, to: ['10.0.0.0/8'], when: { posture: ['disk'] } },
  ] as const
  const digestAt = async (of: Reached, device: RawDevice): Promise<{ seq: number; digest: unknown }> => {
    await delay(100)
    const { json } = await call(of, operation('policyDigest'), device.caller)
    return { seq: Number(json.seq), digest: json.digest }
  }
  const [unpublished] = await Promise.all(devices.map((device) => digestAt(behind, device)))
  await clients[0].publishPolicy({
    body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules: [...rules], posture_checks } },
  })
  for (const of of both) await until(async () => (await digestAt(of, devices[0]!)).seq > unpublished!.seq, 'the policy')
  for (const [i, device] of devices.entries()) {
    const before = await digestAt(ahead, device)
    assert.equal((await digestAt(behind, device)).digest, before.digest)
    assert.equal(await statusOf('reportPosture', device.caller, { facts: { 'disk.encrypted': true } })(both[i]!), 200)
    for (const of of both)
      await until(async () => (await digestAt(of, device)).digest !== before.digest, 'what the report allows')
    assert.equal((await digestAt(ahead, device)).digest, (await digestAt(behind, device)).digest)
    asked.push(`a report to ${i ? 'the one behind' : 'the one ahead'}, good for 5 minutes: counts at both`)
    const vouched = async (of: Reached) => {
      const { status, expires_at } = (await call(of, operation('postureAssertion'), device.caller)).json
      near('the end of its assertion', expires_at, 300 * second)
      return status
    }
    await answers('and is vouched for until then', vouched, 'affirming')
  }

  // Gateways: their state, VPN sessions, notifications of their silence.
  const pool = await clients[0].createGatewayPool({ body: { name: 'pool', region: { code: 'eu' } } })
  const { tenant_id: tenantId } = await clients[0].me()
  for (const [i, { dispatcher }] of both.entries()) {
    const { gateway, secret } = await clients[i]!.createGateway({
      params: { pool_id: pool.pool_id },
      body: { name: `gw${i}` },
    })
    const opened = openGateway({ baseUrl: publicUrl, secret, dispatcher, gatewayId: gateway.gateway_id, tenantId })
    await opened.pull()
    const session_id = `vse_${gateway.gateway_id.slice(4)}`
    const sample = { session_id, device_id: devices[i]!.id, state: 'active', rx_bytes: 1, tx_bytes: 1 } as const
    assert.deepEqual((await opened.meter([sample])).rejected, [])
    const at = (of: Reached) => clients[of === ahead ? 0 : 1]!
    await answers(
      `a gateway that spoke to ${i ? 'the one behind' : 'the one ahead'}`,
      async (of) => (await at(of).getGateway({ params: { gateway_id: gateway.gateway_id } })).status,
      'healthy',
    )
    await answers('its session', async (of) => (await at(of).getSession({ params: { session_id } })).state, 'active')
  }

  // Lockout and its audit; a repeated change; rates.
  const { user } = await clients[0].changeUser({ body: { operation: 'create', user: { username: 'bob' } } })
  const { secret: temporary = '' } = await clients[0].changePassword({
    body: { user_id: user.user_id, generate: true },
  })
  const login = async (of: Reached, given: string) =>
    (await call(of, { method: 'POST', path: '/admin/login' }, null, { username: 'bob', password: given })).status
  for (let i = 0; i < 3; i++) assert.equal(await login(ahead, 'wrong'), 401)
  await answers('the right password while locked out', (of) => login(of, temporary), 401)
  const repeated: Caller = () => ({ authorization: `Bearer ${key}`, 'idempotency-key': 'once' })
  const create = { operation: 'create', user: { username: 'made-once' } }
  const [first, again] = [
    await call(behind, operation('changeUser'), repeated, create),
    await call(ahead, operation('changeUser'), repeated, create),
  ]
  asked.push(
    `a change with an Idempotency-Key: ${first.status}, ${again.status} ${again.headers['idempotency-replayed'] ?? ''}`,
  )
  assert.deepEqual([first.status, again.status, again.text === first.text], [201, 201, true])
  await changeSecuritySettings(clients[0], { api: { requests_per_minute_per_key: 60 } })
  const { secret: limited } = made[0]!
  await settingsAre('api', 'requests_per_minute_per_key', 60)
  for (const of of both) {
    const began = performance.now()
    const statuses = await times(30, () => call(of, operation('listDevices'), bearer(limited)))
    assertOneASecond(statuses, 200, began)
    assert.ok(statuses.some(({ status }) => status === 429))
    asked.push(`30 requests at once at 60 a minute: ${statuses.filter((s) => s.status === 200).length} answered`)
  }
  // The lockout would last five minutes.
  await owner.query(`update users set locked_until = now() where username = 'bob'`)
  assert.equal(await login(behind, temporary), 200, 'the lockout is over')

  // All stored times: every timestamp column of every table.
  const { rows: columns } = await owner.query<{ t: string; c: string }>(
    `select c.relname as t, a.attname as c from pg_attribute a join pg_class c on c.oid = a.attrelid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.atttypid = 'timestamptz'::regtype and a.attnum > 0`,
  )
  let looked = 0
  for (const { t: table, c: column } of columns) {
    const { rows } = await owner.query<{ off: number }>(
      `select extract(epoch from ${column} - now())::float8 as off from ${table} where ${column} is not null and ${column} < 'infinity'`,
    )
    looked += rows.length
    // The start of the current or the previous hour tells nothing about an offset of minutes.
    if (column === 'hour') {
      assert.ok(rows.every(({ off }) => off <= 0 && off > -3700))
      continue
    }
    // The seed of an authenticator app expires after ten minutes.
    const own = `${table}.${column}` === 'user_totp.expires_at' ? 600 : 0
    for (const { off } of rows.map((row) => ({ off: row.off - own })))
      assert.ok(Math.abs(Math.abs(off) - 600) > 90, `${table}.${column} is ${off.toFixed(0)} s from now`)
  }
  await owner.end()
  for (const line of asked) t.diagnostic(line)
  t.diagnostic(`${looked} moments in ${columns.length} columns, none of them ten minutes off`)
  assert.ok(looked > 100)
})
