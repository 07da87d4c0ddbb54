import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey, peekDeviceCredential, thumbprint } from '@holdfast/crypto'
import { grantStatusIn, startDeviceCodeEnrollment } from '../support/actors/device-code-enrollment.ts'
import { bearer, call, operation } from '../support/clients/api-calls.ts'
import { times } from '../support/deployment/deployment.ts'
import { makeKey, sign } from '../support/providers/hostile-oidc-provider.ts'

const waiting = 'authorization_pending'

test('enrollment of machines without a browser', async (t) => {
  const g = await startDeviceCodeEnrollment(t)
  const { kit, clock, idp, provider } = g

  await t.test('a machine without a browser is approved by a person and enrolled for that person', async () => {
    const listed = await call(kit, operation('listEnrollmentProviders'), bearer(g.token))
    assert.deepEqual(
      (listed.json.items as { device_code: boolean }[]).map((p) => p.device_code),
      [true],
    )
    const machine = await g.newMachine()
    const answer = await g.begin(machine, {}, { 'idempotency-key': 'once' })
    assert.equal(answer.status, 201, answer.text)
    const { expires_at, ...shown } = answer.json
    assert.deepEqual(shown, {
      user_code: 'WDJB-MJHT',
      verification_uri: `${idp.issuer}/activate`,
      verification_uri_complete: null,
      interval_seconds: 5,
    })
    const left = (Date.parse(String(expires_at)) - clock.now().getTime()) / 60_000
    assert.ok(left > 9 && left <= 10, `${left} minutes`)
    const repeated = await g.begin(machine, {}, { 'idempotency-key': 'once' })
    assert.deepEqual([repeated.status, repeated.json], [201, answer.json], 'a lost answer is given again')
    const twice = await g.begin(machine)
    assert.deepEqual([twice.status, await g.reasons()], [401, ['replayed']], 'a challenge begins one grant')
    const code = idp.deviceCodes.at(-1)!
    assert.equal(idp.deviceCodes.length, 1)

    const early = await times(4, () => g.status(machine))
    assert.deepEqual(new Set(early.map(grantStatusIn)), new Set([waiting]))
    assert.deepEqual([g.asked(), early[0]!.headers.etag], [0, `"${waiting}"`], 'not before its interval has passed')
    clock.advance(5)
    for (let i = 0; i < 2; i++) assert.equal(grantStatusIn(await g.status(machine)), waiting)
    assert.equal(g.asked(), 1, 'and once in each, however often the machine asks')
    const tooSoon = await g.finish(machine)
    assert.deepEqual([tooSoon.status, tooSoon.json.error], [422, 'validation_error'])
    assert.match(String(tooSoon.json.detail), /authorization_pending/)

    await g.approve({ code })
    clock.advance(5)
    assert.equal(grantStatusIn(await g.status(machine)), 'authorized')
    const thief = { ...machine, key: generateKey('ES256').privateJwk }
    for (const stolen of [await g.status(thief), await g.finish(thief)])
      assert.equal(stolen.status, 401, 'to no other key')
    const row = await g.row(machine)
    const enrolled = await g.finish(machine, {}, { 'idempotency-key': 'twice' })
    assert.equal(enrolled.status, 201, enrolled.text)
    const again = await g.finish(machine, {}, { 'idempotency-key': 'twice' })
    assert.deepEqual([again.status, again.json], [201, enrolled.json])
    assert.equal((await g.finish(machine)).status, 401)
    assert.equal((await g.status(machine)).status, 401, 'nothing is left of it')

    const device_id = String(enrolled.json.device_id)
    const device = await kit.admin.getDevice({ params: { device_id } })
    const by = { provider_id: provider.provider_id, provider_name: provider.name }
    assert.deepEqual(
      [device.status, device.enrolled_by],
      ['active', { method: 'device_code', token_id: null, token_name: null, ...by }],
    )
    const user = await kit.admin.getUser({ params: { user_id: String(device.user_id) } })
    assert.deepEqual([user.username, user.source, user.last_login_at], ['ada', 'sso', null])
    const { claims } = peekDeviceCredential(String(enrolled.json.credential))
    assert.deepEqual([claims.enr, claims.uid, claims.cnf?.jkt], ['device_code', user.user_id, thumbprint(machine.key)])
    const events = (await kit.admin.listAuditEvents({ query: { limit: 200 } })).items
    assert.equal(events.filter((e) => e.kind === 'device_grant.created').length, 1)
    const [made] = events.filter((e) => e.kind === 'device.enrolled')
    assert.deepEqual(made && 'method' in made && [made.method, made.target?.id], ['device_code', device_id])
    const told = JSON.stringify(events) + kit.logs.join() + JSON.stringify(row)
    for (const secret of [code, machine.challenge, String(enrolled.json.credential)])
      assert.ok(!told.includes(secret), 'no secret in an event, a log line or a row')
  })

  await t.test(
    'any answer of the provider becomes an RFC 8628 error for the machine, and the reason is recorded',
    async () => {
      const now = () => Math.floor(clock.now().getTime() / 1000)
      const right = () => idp.claims({ sub: 'x', iat: now(), exp: now() + 300 })
      type Decide = (m: { code: string }) => Promise<unknown> | unknown
      const claims =
        (make: () => Record<string, unknown>): Decide =>
        (m) =>
          g.approve(m, { sub: 'sub-of-eve', preferred_username: 'eve', ...make() })
      const decided =
        (decision: { error: string } | { idToken: string }): Decide =>
        ({ code }) =>
          idp.decisions.set(code, decision)
      const huge = (m: { code: string }) => {
        idp.answers.set('/token', (_, response) => void response.writeHead(200).end(Buffer.alloc(10_000_000, 'x')))
        return m
      }
      const ends: Record<string, [status: string, reason: string, Decide]> = {
        'the person refuses': ['access_denied', 'denied', decided({ error: 'access_denied' })],
        'the code has expired': ['expired_token', 'expired', decided({ error: 'expired_token' })],
        'the code is of another client': ['failed', 'code', decided({ error: 'invalid_grant' })],
        'our secret is wrong': ['failed', 'client', decided({ error: 'invalid_client' })],
        'an ID token for another client': ['failed', 'audience', claims(() => ({ aud: 'phone' }))],
        'an ID token that has expired': ['failed', 'time', claims(() => ({ exp: now() - 90 }))],
        'an ID token of 12 minutes ago': ['failed', 'time', claims(() => ({ iat: now() - 720 }))],
        'an ID token of another issuer': ['failed', 'issuer', claims(() => ({ iss: 'http://127.0.0.1:1' }))],
        'an ID token with a nonce that nobody asked for': ['failed', 'nonce', claims(() => ({ nonce: 'x' }))],
        'an ID token by an unknown key': [
          'failed',
          'keys',
          async ({ code }) => idp.decisions.set(code, { idToken: await sign(await makeKey(), right()) }),
        ],
        'no ID token': ['failed', 'token', decided({ idToken: '' })],
        'ten megabytes': ['failed', 'unreachable', huge],
      }
      const { items: devices } = await kit.admin.listDevices()
      const seen = new Set<string>()
      for (const [what, [status, reason, decide]] of Object.entries(ends)) {
        const machine = await g.begun()
        await decide(machine)
        clock.advance(5)
        const asked = g.asked()
        assert.equal(grantStatusIn(await g.status(machine)), status, what)
        idp.answers.clear()
        assert.deepEqual(await g.reasons(), [reason], what)
        if (seen.has(status)) continue
        seen.add(status)
        clock.advance(5)
        assert.equal(grantStatusIn(await g.status(machine)), status, `${what}, asked again`)
        assert.equal(g.asked(), asked + 1, `${what}: the provider is not asked again`)
        const finished = await g.finish(machine)
        assert.deepEqual([finished.status, String(finished.json.detail).endsWith(status)], [422, true], what)
      }
      assert.deepEqual((await kit.admin.listDevices()).items, devices)
      assert.deepEqual((await kit.admin.listUsers({ query: { q: 'eve' } })).items, [], 'nor did anybody get a user')

      const machine = await g.begun()
      const silence = [
        (_: unknown, response: { socket: { destroy(): void } | null }) => void response.socket?.destroy(),
        (_: unknown, response: { writeHead(status: number): { end(): void } }) => void response.writeHead(503).end(),
      ]
      for (const [i, answer] of silence.entries()) {
        idp.answers.set('/token', answer as never)
        clock.advance(5 * 2 ** i)
        assert.equal(
          grantStatusIn(await g.status(machine)),
          waiting,
          'a provider that is away for a moment is asked again',
        )
        assert.equal((await g.row(machine))?.interval_seconds, 10 * 2 ** i, 'less often')
      }
      idp.answers.clear()
      for (const slower of [25, 30, 35]) {
        idp.decisions.set(machine.code, { error: 'slow_down' })
        clock.advance(40)
        assert.equal(grantStatusIn(await g.status(machine)), waiting)
        assert.equal((await g.row(machine))?.interval_seconds, slower, 'slow_down is five seconds more, each time')
      }
      const asked = g.asked()
      clock.advance(34)
      assert.equal(grantStatusIn(await g.status(machine)), waiting)
      assert.equal(g.asked(), asked)
      clock.advance(500)
      assert.equal(grantStatusIn(await g.status(machine)), 'expired_token')
      assert.deepEqual(
        [g.asked(), await g.reasons()],
        [asked, ['expired']],
        'a provider that always says slow_down ends too',
      )
    },
  )

  await t.test('device-code enrollment needs the setting, the grant of the provider and valid answers', async () => {
    await g.set({ oidc: { device_code: 'off' } })
    const refused = async (reason: string, what: string) => {
      const machine = await g.newMachine()
      const answer = await g.begin(machine)
      assert.deepEqual([answer.status, await g.reasons()], [401, [reason]], `${what}: ${answer.text}`)
      return machine
    }
    await refused('turned_off', 'turned off')
    idp.changed.device_authorization_endpoint = undefined
    await assert.rejects(g.set({ oidc: { device_code: 'on' } }), /not support the device authorization grant/)
    Object.assign(idp.changed, idp.deviceEndpoint)
    await g.set({ oidc: { device_code: 'on' } })
    const tested = await kit.admin.testIdentityProvider({ params: g.params })
    assert.equal(tested.found?.device_authorization_endpoint, `${idp.issuer}/device`)

    const senseless: Record<string, unknown>[] = [
      { interval: 0 },
      { interval: -1 },
      { interval: '5' },
      { interval: 600 },
      { interval: 1e300, expires_in: 1e301 },
      { expires_in: 0 },
      { expires_in: 'soon' },
      { user_code: 'A\u001b[2J' },
      { user_code: 'A'.repeat(65) },
      { verification_uri: 'javascript:alert(1)' },
      { verification_uri: 'https://user:password@idp.example/' },
      { verification_uri_complete: 'file:///etc/passwd' },
      { verification_uri: undefined },
      { device_code: 'x'.repeat(5000) },
    ]
    const same = await g.newMachine()
    for (const wrong of senseless) {
      Object.assign(idp.deviceChanged, wrong)
      const { json, status } = await g.begin(same)
      const [reason] = await g.reasons()
      assert.ok(status === 401 && (reason === 'code' || reason === 'token'), `${JSON.stringify(wrong)}: ${reason}`)
      assert.equal(json.detail, 'missing or invalid credentials')
      for (const name of Object.keys(wrong)) delete idp.deviceChanged[name]
    }
    idp.deviceChanged.expires_in = 1e300
    const endless = await g.begin(await g.newMachine())
    const minutes = (Date.parse(String(endless.json.expires_at)) - clock.now().getTime()) / 60_000
    assert.ok(endless.status === 201 && minutes <= 14, `${endless.text}: no grant outlives its challenge`)
    delete idp.deviceChanged.expires_in
    idp.answers.set('/device', (_, response) => void response.writeHead(200).end(Buffer.alloc(10_000_000, 'x')))
    await refused('unreachable', 'ten megabytes')
    idp.answers.set(
      '/device',
      (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    )
    const machine = await refused('token', 'a redirect')
    idp.answers.clear()
    assert.equal((await g.begin(machine)).status, 201, 'the same challenge may try again')
    const unknown = await g.begin(await g.newMachine(), { provider_id: 'idp_01jxz3c9dqf7vr2m8k4s6t0b5w' })
    assert.deepEqual([unknown.status, await g.reasons()], [401, ['unknown_provider']])
    const keyless = await call(kit, operation('beginDeviceCode'), bearer((await g.newMachine()).challenge), g.params)
    assert.deepEqual([keyless.status, keyless.json.error], [422, 'validation_error'], 'a key is proved first')

    // Changes while a machine waits.
    const changes: [what: string, change: () => Promise<unknown>][] = [
      ['another client', () => g.set({ oidc: { client_id: 'another' } })],
      ['enrollment off', () => g.set({ enrollment: false })],
      ['this way off', () => g.set({ enrollment: true, oidc: { device_code: 'off' } })],
      ['the provider off', () => g.set({ enabled: false, oidc: { device_code: 'on' } })],
    ]
    for (const [what, change] of changes) {
      await g.set({ enabled: true, enrollment: true, oidc: { client_id: 'holdfast', device_code: 'on' } })
      const asks = await g.begun()
      const approved = await g.begun()
      await g.approve(approved)
      clock.advance(5)
      assert.equal(grantStatusIn(await g.status(approved)), 'authorized')
      await change()
      const before = g.asked()
      assert.equal(grantStatusIn(await g.status(asks)), 'failed', what)
      assert.deepEqual([g.asked(), await g.reasons()], [before, ['turned_off']], `${what}: nothing is said to anybody`)
      const finished = await g.finish(approved)
      assert.equal(finished.status, what === 'another client' ? 201 : 401, `${what}: ${finished.text}`)
    }
    await g.set({ enabled: true, oidc: { client_id: 'holdfast', device_code: 'approval' } })
    const waits = await g.begun()
    await g.approve(waits, { sub: 'another', preferred_username: 'eve' })
    clock.advance(5)
    assert.equal(grantStatusIn(await g.status(waits)), 'authorized')
    assert.equal((await g.finish(waits)).json.status, 'pending', 'approval: for these machines alone')
    const gone = await g.begun()
    await kit.admin.deleteIdentityProvider({ params: g.params })
    assert.equal((await g.status(gone)).status, 401)
  })
})
