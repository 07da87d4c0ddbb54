import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { createAuthenticator, makeUser, signInAs, untilStatus } from '../support/actors/people.ts'
import { openBrowser } from '../support/clients/browser.ts'
import { cookieOf, send } from '../support/clients/raw-http.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { opened } from '../support/domain/notifications.ts'
import { type Claims, makeKey, sign, startHostileProvider } from '../support/providers/hostile-oidc-provider.ts'
import { whoIs } from '../support/providers/oidc-sign-in.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'
const now = () => Math.floor(Date.now() / 1000)
type Idp = Awaited<ReturnType<typeof startHostileProvider>>

/** Claims of a logout token. */
const claimsOf = (idp: Idp, more: Claims): Claims =>
  idp.claims({ sub: undefined, exp: now() + 120, jti: randomUUID(), events: { [event]: {} }, ...more })
const logoutToken = (idp: Idp, more: Claims = {}, typ = 'logout+jwt') => sign(idp.key, claimsOf(idp, more), { typ })

async function start(kit: Kit, { as = kit.admin, name = 'Login' } = {}) {
  const idp = await startHostileProvider(kit)
  const provider = await as.createIdentityProvider({
    body: {
      name,
      kind: 'oidc',
      provisioning: 'create',
      claims: { username: 'sub' },
      oidc: { issuer: idp.issuer, client_id: 'holdfast' },
    },
  })
  const { pathname, search } = new URL(provider.oidc?.backchannel_logout_uri ?? '')
  const post = (logout_token: string, more = {}, replica: { url: string } = kit, path = pathname + search) =>
    send(replica.url, { method: 'POST', path, form: { logout_token, ...more } })
  const tenant = search.replace('?', '&')
  /** A browser on its way back from the provider; its ID token has these claims. */
  async function wayBack(claims: Claims) {
    const browser = openBrowser(kit)
    const sent = await browser.get(`/admin/login/oidc?provider=${provider.provider_id}${tenant}`)
    assert.equal(sent.status, 303, sent.text)
    const answer = await idp.answerTo(String(sent.headers.location), (nonce) => idp.idToken({ nonce, ...claims }))
    return { browser, path: `${new URL(String(provider.oidc?.redirect_uri)).pathname}?${answer}` }
  }
  async function signIn(claims: Claims): Promise<string> {
    const { browser, path } = await wayBack(claims)
    const answer = await browser.get(path)
    assert.equal(answer.status, 200, answer.text)
    return browser.cookies.get('holdfast_session') ?? ''
  }
  /** The names of the sessions that are still active on every replica. */
  const running = async (cookies: Readonly<Record<string, string>>) => {
    const found = []
    for (const [name, cookie] of Object.entries(cookies)) {
      const seen = []
      for (const replica of kit.replicas) seen.push((await whoIs(kit, cookie, replica)) !== 401)
      if (seen.every(Boolean)) found.push(name)
      else assert.ok(!seen.some(Boolean), `${name} runs on one replica alone`)
    }
    return found.join(' ')
  }
  const over = (cookie: string | undefined) =>
    Promise.all(
      kit.replicas.map((replica) =>
        untilStatus(
          () => send(replica.url, { path: '/v1/admin/me', headers: { cookie: `holdfast_session=${cookie}` } }),
          401,
        ),
      ),
    )
  return { idp, provider, post, wayBack, signIn, running, over }
}

test('a logout at the provider, in a deployment of two replicas', async (t) => {
  const kit = await startKit(t, { config: opened, replicas: 2 })

  await t.test('of twenty who bring one logout token, on two replicas, one is believed', async () => {
    const { idp, post, signIn, over } = await start(kit, { name: 'A third' })
    const cookies = [await signIn({ sub: 'emil', sid: 's-1' }), await signIn({ sub: 'emil', sid: 's-2' })]
    const token = await logoutToken(idp, { sub: 'emil', jti: 'once' })
    const answers = await times(20, (i) => post(token, {}, kit.replicas[i % 2]))
    assert.deepEqual(answers.map((a) => a.status).sort(), [200, ...Array(19).fill(400)])
    for (const cookie of cookies) await over(cookie)
    const received = await eventsOf(kit, 'backchannel_logout.received')
    assert.deepEqual(
      received.map((e) => e.sessions_ended),
      [2],
    )
    assert.equal((await eventsOf(kit, 'session.expired')).length, 2)
    assert.deepEqual(
      [...new Set((await eventsOf(kit, 'backchannel_logout.refused')).map((e) => e.reason))],
      ['replayed'],
    )
  })

  await t.test('who signs out at the provider while they are on the way back from it does not come in', async () => {
    const { idp, post, wayBack, signIn, running, provider } = await start(kit, { name: 'Another' })
    const ways = [
      await wayBack({ sub: 'fred', sid: 's-1' }),
      await wayBack({ sub: 'gina', sid: 's-2', iat: now() - 5 }),
      await wayBack({ sub: 'gina', iat: now() - 5 }),
    ]
    for (const claims of [{ sid: 's-1' }, { sub: 'gina' }])
      assert.equal((await post(await logoutToken(idp, claims), {}, kit.replicas[1])).status, 200)
    for (const { browser, path } of ways) assert.equal((await browser.get(path)).status, 401)
    const reasons = (await eventsOf(kit, 'login.failed')).slice(0, 3).map((e) => e.failure_reason)
    assert.deepEqual(reasons, Array(3).fill('oidc:signed_out'))
    // A new sign-in is another session.
    assert.equal(await running({ a: await signIn({ sub: 'fred', sid: 's-9' }) }), 'a')
    assert.equal(await running({ b: await signIn({ sub: 'gina', iat: now() + 1 }) }), 'b')

    // Concurrent logout and sign-ins of one session, in any order: no session is left.
    const at = await Promise.all(Array.from({ length: 6 }, () => wayBack({ sub: 'dora', sid: 's-d' })))
    const token = await logoutToken(idp, { sid: 's-d' })
    await Promise.all([...at.map(({ browser, path }) => browser.get(path)), post(token, {}, kit.replicas[1])])
    const sessions = (await kit.admin.listAdminSessions()).items.filter((s) => s.username === 'dora')
    assert.deepEqual(sessions, [], provider.name)
  })

  await t.test(
    'who signs out at the provider is out here, in that session or in all of theirs, on every replica',
    async () => {
      const { idp, provider, post, signIn, running, over } = await start(kit)
      const cookies = {
        a1: await signIn({ sub: 'anna', sid: 's-1' }),
        a2: await signIn({ sub: 'anna', sid: 's-2' }),
        a3: await signIn({ sub: 'anna' }),
        b1: await signIn({ sub: 'ben', sid: 's-3' }),
      }
      await makeUser(kit, 'carl')
      const local = await signInAs(kit, 'carl')
      assert.equal(await running(cookies), 'a1 a2 a3 b1')
      assert.equal(
        provider.oidc?.backchannel_logout_uri,
        `${kit.publicUrl}/admin/logout/oidc/backchannel/${provider.provider_id}`,
      )

      const first = await post(await logoutToken(idp, { sid: 's-1' }), { state: 'of others', logout_hint: '' })
      assert.deepEqual([first.status, first.json, first.headers['cache-control']], [200, {}, 'no-store'])
      await over(cookies.a1)
      assert.equal(await running(cookies), 'a2 a3 b1')
      const [told] = await eventsOf(kit, 'backchannel_logout.received')
      assert.deepEqual(
        [told?.provider_id, told?.sessions_ended, told?.details, told?.actor.type, told?.outcome],
        [provider.provider_id, 1, { sid: 's-1' }, 'identity_provider', 'success'],
      )
      const [ended] = await eventsOf(kit, 'session.expired')
      assert.deepEqual([ended?.reason, ended?.actor.id], ['manual', provider.provider_id])

      // A logout token for an unknown session or user is no failure. `sub` and `sid` together name one session.
      for (const claims of [{ sid: 's-1' }, { sub: 'nobody' }, { sub: 'ben', sid: 's-2' }])
        assert.equal((await post(await logoutToken(idp, claims, 'JWT'))).status, 200)
      assert.equal(await running(cookies), 'a2 a3 b1')
      assert.equal((await post(await logoutToken(idp, { sub: 'ben', sid: 's-3', exp: undefined }))).status, 200)
      await over(cookies.b1)
      assert.equal((await post(await logoutToken(idp, { sub: 'anna' }), {}, kit.replicas[1])).status, 200)
      await over(cookies.a2)
      await over(cookies.a3)
      assert.equal(await running(cookies), '')
      assert.equal((await local.get('/v1/admin/me')).status, 200)

      // A session keeps its provider's data under a new id.
      const began = await signIn({ sub: 'anna', sid: 's-4', iat: now() + 1 })
      const change = (path: string, json: unknown) => {
        const headers = { cookie: `holdfast_session=${began}`, origin: kit.publicUrl }
        return send(kit.url, { method: 'POST', path: `/v1/admin/users/totp/${path}`, json, headers })
      }
      const { secret } = (await change('enroll', {})).json
      const verified = await change('verify', { code: createAuthenticator(secret).code() })
      const renewed = cookieOf(verified).replace('holdfast_session=', '')
      assert.equal(await running({ began, renewed }), 'renewed', verified.text)
      assert.equal((await post(await logoutToken(idp, { sid: 's-4' }))).status, 200)
      await over(renewed)

      // The provider and the address of another tenant.
      const acme = await kit.newTenant('acme')
      const other = await start(kit, { as: await kit.as('tenant_admin', acme) })
      assert.match(String(other.provider.oidc?.backchannel_logout_uri), /\?tenant=acme$/)
      const theirs = await other.signIn({ sub: 'anna', sid: 's-1' })
      const ours = await signIn({ sub: 'ben', sid: 's-1', iat: now() + 1 }).catch(() => undefined)
      assert.equal(ours, undefined, 'that session of the provider is over')
      assert.equal((await post(await logoutToken(other.idp, { sid: 's-1' }))).status, 400, 'not at another provider')
      assert.equal((await other.post(await logoutToken(other.idp, { sid: 's-1' }))).status, 200)
      await over(theirs)

      const kept = () =>
        kit.db.inTenant(kit.tenant, (tx) =>
          tx.selectFrom('logout_tokens').select('sid').where('tenant_id', '=', kit.tenant).execute(),
        )
      assert.ok((await kept()).length >= 7)
      await kit.db.inTenant(kit.tenant, (tx) =>
        tx
          .updateTable('logout_tokens')
          .set({ good_until: new Date(0) })
          .where('tenant_id', '=', kit.tenant)
          .execute(),
      )
      await runJob(kit.app, 'forget_what_is_over')
      assert.deepEqual(await kept(), [], 'kept no longer than it could be brought again')
    },
  )
})

const hmac = async (idp: Idp) => {
  const [, payload] = (await logoutToken(idp, { sid: 's-1' })).split('.')
  return `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${payload}.AAAA`
}
/** Tokens from an attacker, or from a faulty provider. Each of them names a session. */
const attacks: Record<string, [reason: string, make: (idp: Idp) => Promise<string> | string]> = {
  'no token': ['token', () => 'x'],
  'alg none': ['algorithm', async (idp) => `eyJhbGciOiJub25lIn0.${(await hmac(idp)).split('.')[1]}.`],
  HS256: ['algorithm', hmac],
  'a key that nobody published': ['keys', async (idp) => sign(await makeKey(), claimsOf(idp, { sid: 's-1' }))],
  'another key of a known name': [
    'signature',
    async (idp) => sign(await makeKey('RS256', idp.key.kid), claimsOf(idp, { sid: 's-1' })),
  ],
  'an ID token of that very session': ['token', (idp) => idp.idToken({ sub: 'anna', sid: 's-1', nonce: 'n' })],
  'an ID token with a jti': ['token', (idp) => idp.idToken({ sub: 'anna', sid: 's-1', jti: 'j', nonce: 'n' })],
  'a nonce': ['nonce', (idp) => logoutToken(idp, { sid: 's-1', nonce: 'n' })],
  'a nonce that is null': ['nonce', (idp) => logoutToken(idp, { sid: 's-1', nonce: null })],
  'another type': ['token', (idp) => logoutToken(idp, { sid: 's-1' }, 'at+jwt')],
  'no events': ['token', (idp) => logoutToken(idp, { sid: 's-1', events: undefined })],
  'another event': ['events', (idp) => logoutToken(idp, { sid: 's-1', events: { [`${event}x`]: {} } })],
  'events that are a list': ['events', (idp) => logoutToken(idp, { sid: 's-1', events: [event] })],
  'an event that is no object': ['events', (idp) => logoutToken(idp, { sid: 's-1', events: { [event]: true } })],
  'an event of the prototype': ['events', (idp) => logoutToken(idp, { sid: 's-1', events: {} })],
  'no jti': ['token', (idp) => logoutToken(idp, { sid: 's-1', jti: undefined })],
  'an empty jti': ['token', (idp) => logoutToken(idp, { sid: 's-1', jti: '' })],
  'a jti that is no text': ['token', (idp) => logoutToken(idp, { sid: 's-1', jti: 7 })],
  'a jti that is too long': ['token', (idp) => logoutToken(idp, { sid: 's-1', jti: 'j'.repeat(256) })],
  'another issuer': ['issuer', (idp) => logoutToken(idp, { sid: 's-1', iss: 'https://evil.example' })],
  'another audience': ['audience', (idp) => logoutToken(idp, { sid: 's-1', aud: 'another' })],
  'several audiences': ['audience', (idp) => logoutToken(idp, { sid: 's-1', aud: ['holdfast', 'another'] })],
  ended: ['time', (idp) => logoutToken(idp, { sid: 's-1', exp: now() - 70 })],
  'an end that is a text': ['time', (idp) => logoutToken(idp, { sid: 's-1', exp: String(now() + 60) })],
  'issued too long ago': ['time', (idp) => logoutToken(idp, { sid: 's-1', iat: now() - 670 })],
  'issued in the future': ['time', (idp) => logoutToken(idp, { sid: 's-1', iat: now() + 90 })],
  'no time of issue': ['time', (idp) => logoutToken(idp, { sid: 's-1', iat: undefined })],
  nobody: ['subject', (idp) => logoutToken(idp)],
  'a subject that is no text': ['subject', (idp) => logoutToken(idp, { sid: 's-1', sub: ['anna'] })],
  'a subject that can only be kept altered': ['subject', (idp) => logoutToken(idp, { sid: 's-1', sub: 'anna\0' })],
  'a session that is no text': ['subject', (idp) => logoutToken(idp, { sid: { a: 1 } })],
  'a session that can only be kept altered': ['subject', (idp) => logoutToken(idp, { sid: 's-1\0' })],
}

test('whatever is no logout token of this provider is one 400, which only the record explains', async (t) => {
  const kit = await startKit(t, { config: opened })
  const { idp, provider, post, signIn, running } = await start(kit)
  const cookies = { a: await signIn({ sub: 'anna', sid: 's-1' }) }
  const right = await logoutToken(idp, { sid: 's-1' })
  const refused = { error: 'invalid_request', error_description: 'the logout token is not accepted' }
  const found = new Set<string>()
  for (const [name, [reason, make]] of Object.entries(attacks)) {
    const answer = await post(await make(idp))
    assert.deepEqual([answer.status, answer.json, answer.headers['www-authenticate']], [400, refused, undefined], name)
    found.add(reason)
  }
  assert.deepEqual(new Set((await eventsOf(kit, 'backchannel_logout.refused')).map((e) => e.reason)), found)
  const path = (id: string, query = '') => `/admin/logout/oidc/backchannel/${id}${query}`
  await kit.newTenant('acme')
  const saml = await kit.admin.createIdentityProvider({
    body: { name: 'S', kind: 'saml', enabled: false, saml: { metadata_url: 'https://localhost/metadata' } },
  })
  for (const at of [
    path(saml.provider_id),
    path(provider.provider_id, '?tenant=acme'),
    path(provider.provider_id, '?tenant=nobody'),
    path(provider.provider_id.replace(/.$/, (c) => (c === '0' ? '1' : '0'))),
    path('x'),
  ]) {
    const answer = await post(right, {}, kit, at)
    assert.deepEqual([answer.status, answer.json], [400, refused], at)
  }

  // An unreadable request gets the same answer.
  const unread = [
    { form: {} },
    { form: { logout_token: 'x'.repeat(8193) } },
    { form: { logout_token: 'x'.repeat(100_000) } },
    { json: { logout_token: [right] } },
    { xml: right, headers: { 'content-type': 'application/jwt' } },
    {
      xml: 'logout_token=a&logout_token=b',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    },
  ]
  for (const sent of unread) {
    const answer = await send(kit.url, { method: 'POST', path: path(provider.provider_id), ...sent })
    assert.deepEqual([answer.status, answer.json.error], [400, 'invalid_request'], JSON.stringify(sent).slice(0, 60))
  }
  assert.equal((await send(kit.url, { path: path(provider.provider_id) })).json.error, 'unauthorized', 'as any path')
  assert.equal(await running(cookies), 'a')
  const flood = () => times(50, () => send(kit.url, { method: 'POST', path: path('x'), form: { logout_token: 'x' } }))
  let throttled: Awaited<ReturnType<typeof send>> | undefined
  for (let i = 0; i < 40 && !throttled; i++) throttled = (await flood()).find((answer) => answer.status === 429)
  assert.equal(throttled?.json.error, 'temporarily_unavailable')
  assert.ok(Number(throttled?.headers['retry-after']) > 0)
})
