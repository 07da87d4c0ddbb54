import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Operation, operations } from '@holdfast/contract'
import { generateKey, mintToken } from '@holdfast/crypto'
import { changeSecuritySettings } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { adminPassword, type Kit, startKit } from '../kit.ts'
import { createAuthenticator, enrollFactor, makeUser, signInAs, trySignIn } from '../people.ts'
import {
  bearer,
  type Caller,
  call,
  createWorld,
  deviceCaller,
  exampleBody,
  fill,
  operation,
  populate,
  type World,
} from '../world.ts'

type Example = { caller: Caller; path?: Record<string, string>; body?: unknown; query?: string }
type Setup = (kit: Kit, world: World) => Promise<Example> | Example
/** The contract's own example of the body, sent by an administrator: the table grows with the contract. */
const standard =
  (name: Operation): Setup =>
  (_, world) => ({ caller: world.callers.api_key, body: exampleBody(name, world.own.ids) })

/** Where more must be there first, or another than an administrator asks. */
const special: Partial<Record<Operation, Setup>> = {
  login: () => ({ caller: () => ({}), body: { username: 'admin', password: adminPassword } }),
  logout: (_, world) => ({ caller: world.callers.session }),
  reactivateUser: async (kit, world) => {
    await kit.admin.suspendUser({ body: { user_id: world.own.ids.user_id } })
    return { caller: world.callers.api_key, body: { user_id: world.own.ids.user_id } }
  },
  unlockUser: async (kit, world) => {
    const { user_id } = world.own.ids
    const { username } = await kit.admin.getUser({ params: { user_id } })
    const threshold = (lockout_threshold: number) => changeSecuritySettings(kit.admin, { login: { lockout_threshold } })
    await threshold(1)
    await trySignIn(kit, username, { password: 'wrong' })
    await threshold(10)
    return { caller: world.callers.api_key, body: { user_id } }
  },
  // Laid over what holds: the rates of a whole example would slow the other rows down.
  updateSecuritySettings: async (kit, world) => {
    const { sessions, ...others } = await kit.admin.getSecuritySettings()
    return { caller: world.callers.api_key, body: { ...others, sessions: { ...sessions, idle_seconds: 1234 } } }
  },
  verifyTotp: async (kit, world) => {
    const { user_id } = world.own.ids
    const { secret } = await kit.admin.enrollTotp({ body: { user_id } })
    return { caller: world.callers.api_key, body: { user_id, code: createAuthenticator(secret).code() } }
  },
  disableTotp: async (kit, world) => {
    const { user_id } = world.own.ids
    const { secret } = await kit.admin.enrollTotp({ body: { user_id } })
    await kit.admin.verifyTotp({ body: { user_id, code: createAuthenticator(secret).code() } })
    return { caller: world.callers.api_key, body: { user_id } }
  },
  stepUp: async (kit) => {
    await makeUser(kit, 'with-a-factor')
    const { person, app } = await enrollFactor(kit, 'with-a-factor')
    return { caller: () => ({ cookie: person.cookie(), origin: kit.publicUrl }), body: { code: app.code(1) } }
  },
  endAdminSession: async (kit, world) => {
    await makeUser(kit, 'signed-in')
    const me = await (await signInAs(kit, 'signed-in')).get('/v1/admin/me')
    return { caller: world.callers.api_key, path: { session_id: me.json.session.session_id }, body: {} }
  },
  revokeRole: async (kit, world) => {
    const body = { user_id: world.own.ids.user_id, role: 'viewer' } as const
    await kit.admin.grantRole({ body })
    return { caller: world.callers.api_key, body }
  },
  enroll: (_, world) => {
    const { privateJwk } = generateKey('ES256')
    return { caller: deviceCaller(world.own.token, privateJwk), body: { device: { name: 'phone', platform: 'ios' } } }
  },
  renewCredential: (_, world) => ({ caller: world.own.device.caller, body: {} }),
  deleteGatewayPool: async (kit, world) => ({
    caller: world.callers.api_key,
    path: { pool_id: (await kit.admin.createGatewayPool({ body: { name: 'empty', region: { code: 'us' } } })).pool_id },
  }),
  terminateSessions: async (kit, world) => {
    const at = new Date()
    const session_id = encodeId('vpn_session', crypto.randomUUID())
    const sample = { session_id, device_id: world.own.ids.device_id, state: 'active', rx_bytes: 1, tx_bytes: 1 }
    const report = {
      report_id: 'r',
      boot_id: 'b',
      sequence: 1,
      interval_start: at.toISOString(),
      interval_end: at.toISOString(),
      samples: [sample],
    }
    const metered = await call(kit, operation('metering'), world.callers.gateway, report)
    assert.equal(metered.json.accepted, 1, metered.text)
    return { caller: world.callers.api_key, body: { operation: 'terminate', session_ids: [session_id] } }
  },
}

const eventsOf = async (kit: Kit, requestId: unknown) =>
  (await kit.admin.listAuditEvents({ query: { request_id: String(requestId) } })).items.filter(
    (e) => e.kind !== 'api_key.used',
  )

const writes = operations.filter(([, e]) => e.method !== 'GET')

test('every write that succeeds leaves an event of its kind, found by its request id', async (t) => {
  const kit = await startKit(t)
  const world = await createWorld(kit)
  const problems: string[] = []
  for (const [name, e] of writes) {
    if (e.records === 'refusals') continue
    const setup = special[name] ?? standard(name)
    // Each on objects of its own: one example revokes what another would use.
    const own: World = { ...world, own: await populate(kit, kit.admin) }
    own.callers = { ...world.callers, device: own.own.device.caller, gateway: bearer(own.own.secret) }
    const example = await setup(kit, own)
    const answer = await call(
      kit,
      { method: e.method, path: fill(e.path, { ...own.own.ids, ...example.path }) },
      example.caller,
      example.body,
      example.query,
    )
    if (answer.status >= 300) {
      problems.push(`${name}: ${answer.status} ${answer.text}`)
      continue
    }
    const kinds = (await eventsOf(kit, answer.headers['x-request-id'])).map((event) => `${event.kind} ${event.outcome}`)
    if (!kinds.includes(`${e.audit} success`)) problems.push(`${name}: left ${JSON.stringify(kinds)}, not ${e.audit}`)
  }
  assert.deepEqual(problems, [])
})

test('every write that is refused leaves a refusal that names it, and no event of what did not happen', async (t) => {
  const kit = await startKit(t)
  const world = await createWorld(kit)
  const problems: string[] = []
  for (const [name, e] of writes) {
    if (e.access.by === 'anyone') continue
    const path = fill(e.path, world.own.ids)
    const wrongKind = (['device', 'gateway', 'api_key'] as const).find(
      (k) => e.access.by !== 'anyone' && !e.access.by.includes(k),
    )
    const refusals = [
      ...(wrongKind ? [await call(kit, { method: e.method, path }, world.callers[wrongKind], {})] : []),
      await call(kit, { method: e.method, path }, world.callers[e.access.by[0]], { no_such_field: 1 }),
    ]
    for (const answer of refusals) {
      if (answer.status < 400 || answer.status >= 500)
        problems.push(`${name}: not refused but ${answer.status} ${answer.text}`)
      const events = await eventsOf(kit, answer.headers['x-request-id'])
      const kinds = events.map(
        (event) => `${event.kind} ${event.outcome} ${'operation' in event ? event.operation : ''}`,
      )
      if (!kinds.includes(`request.refused refused ${name}`) || events.some((event) => event.kind === e.audit))
        problems.push(`${name} ${answer.status}: left ${JSON.stringify(kinds)}`)
    }
  }
  assert.deepEqual(problems, [])
})

test('every use of an API key is on record before its answer, with exactly the fields of the specification', async (t: TestContext) => {
  const kit = await startKit(t)
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => call(kit, operation('listUsers'), bearer(kit.adminKey))),
  )
  for (const answer of answers) {
    const { items } = await kit.admin.listAuditEvents({ query: { request_id: String(answer.headers['x-request-id']) } })
    assert.equal(items.length, 1)
    const { key_id, source_ip, endpoint, timestamp, kind } = items[0] as unknown as Record<string, string>
    assert.deepEqual(
      { kind, source_ip, endpoint },
      { kind: 'api_key.used', source_ip: '127.0.0.1', endpoint: 'GET /v1/admin/users' },
    )
    assert.match(String(key_id), /^key_/)
    assert.match(String(timestamp), /^\d{4}-.*\.\d{3}Z$/)
  }
})

test('an event that can not be written fails the change it describes', async (t) => {
  const kit = await startKit(t)
  const { default: pg } = await import('pg')
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  await owner.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'disk full'; end $$`)
  await owner.query(
    `create trigger refuse before insert on audit_events for each row when (new.kind = 'enrollment_token.created') execute function refuse()`,
  )
  await owner.end()
  const answer = await call(kit, operation('generateToken'), bearer(kit.adminKey), { name: 'never' })
  assert.equal(answer.status, 500)
  assert.doesNotMatch(answer.text, /disk full/)
  assert.deepEqual((await kit.admin.listTokens()).items, [])
})

test('no secret reaches an event or a log line', async (t) => {
  const kit = await startKit(t)
  const world = await createWorld(kit)
  await call(kit, operation('login'), null, { username: 'admin', password: 'wrong password of mine' })
  await call(
    kit,
    operation('generateToken'),
    () => ({ authorization: `Bearer ${mintToken(kit.secrets.pepper, 'hfk', kit.tenant).token}` }),
    {},
  )
  const events = JSON.stringify((await kit.admin.listAuditEvents({ query: { limit: 200 } })).items)
  const secrets = [
    kit.adminKey,
    world.own.token,
    world.own.secret,
    world.own.device.credential,
    adminPassword,
    'wrong password of mine',
  ]
  for (const secret of secrets) {
    assert.ok(!events.includes(secret), 'a secret in an event')
    assert.ok(!kit.logs.join('\n').includes(secret), 'a secret in the log')
  }
})
