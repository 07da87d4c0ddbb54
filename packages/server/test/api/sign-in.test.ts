import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProof, generateKey } from '@holdfast/crypto'
import { changeSecuritySettings } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { makeUser } from '../support/actors/people.ts'
import { adminLogin, loginOf, signIn } from '../support/actors/sign-in.ts'
import { cookieOf, createCookieClient, type RawRequest, send } from '../support/clients/raw-http.ts'
import { assertStrictPage, bootOf } from '../support/clients/strict-pages.ts'
import { adminPassword, startKit } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

test('signing in starts a session of the user, and signing out ends it', async (t) => {
  const kit = await startKit(t)
  const signedIn = await signIn(kit.url)
  assert.equal(signedIn.status, 200)
  assert.equal(signedIn.json.user.username, 'admin')
  const header = String(signedIn.headers['set-cookie'])
  for (const attribute of ['holdfast_session=', 'HttpOnly', 'Secure', 'SameSite=Strict', 'Path=/'])
    assert.ok(header.includes(attribute), attribute)

  const browser = createCookieClient(kit.url, kit.publicUrl, cookieOf(signedIn))
  const me = await browser.get('/v1/admin/me')
  assert.equal(me.json.credential, 'session')
  assert.equal(me.json.user.user_id, signedIn.json.user.user_id)
  assert.deepEqual(me.json.roles, ['platform_admin'])
  assert.equal(me.json.session.expires_at, signedIn.json.expires_at)
  assert.equal(me.json.tenant_name, 'default')

  assert.deepEqual((await browser.post('/admin/logout')).json, { changed: true, end_session_url: null })
  assert.equal((await browser.get('/v1/admin/me')).status, 401)

  const [succeeded] = await eventsOf(kit, 'login.succeeded')
  assert.equal(succeeded?.user_id, signedIn.json.user.user_id)
  assert.equal(succeeded?.auth_method, 'password')
  assert.equal(succeeded?.source_ip, '127.0.0.1')
  const [started] = await eventsOf(kit, 'session.started')
  const [expired, ...more] = await eventsOf(kit, 'session.expired')
  assert.equal(expired?.reason, 'manual')
  assert.equal(expired?.session_id, started?.session_id)
  assert.equal(more.length, 0)
  assert.ok(!kit.logs.join('').includes(adminPassword))

  // As people type and paste it: blanks around the name, and the space of some keyboards in the password.
  const pasted = { username: ' admin\t', password: adminPassword.replaceAll(' ', '\u00a0') }
  assert.equal((await signIn(kit.url, pasted)).json.user?.username, 'admin')
  assert.equal((await signIn(kit.url, { ...adminLogin, username: ' default / admin\u00a0' })).status, 200)
  assert.equal((await signIn(kit.url, { ...adminLogin, username: 'ad min' })).status, 401)
})

test('the sign-in page works without a script, and shows one sentence on failure', async (t) => {
  const { url, publicUrl } = await startKit(t)
  const page = await send(url, { path: '/admin/login?next=/admin/devices' })
  assert.equal(page.status, 200)
  assert.match(String(page.headers['content-type']), /^text\/html/)
  assert.match(page.text, /<input type="hidden" name="next" value="\/admin\/devices">/)
  assertStrictPage(page)
  assert.doesNotMatch(page.text, /<script/)

  const sameOrigin = { 'sec-fetch-site': 'same-origin' }
  const submit = (form: Record<string, string>, headers: Record<string, string> = sameOrigin) =>
    send(url, { method: 'POST', path: '/admin/login', form, headers })
  const ok = await submit({ ...adminLogin, next: '/admin/devices?status=active' })
  assert.equal(ok.status, 303)
  assert.equal(ok.headers.location, '/admin/devices?status=active')
  assert.equal((await submit({ ...adminLogin, next: '//evil.example' })).headers.location, '/admin')

  const failed = await submit({ username: '"><b>x', password: 'wrong', next: '/admin/devices' })
  assert.equal(failed.status, 401)
  assert.match(failed.text, /role="alert"/)
  assert.match(failed.text, /value="&quot;&gt;&lt;b&gt;x"/)
  assert.match(failed.text, /name="next" value="\/admin\/devices"/)
  assert.equal(failed.headers['set-cookie'], undefined)
  assert.equal((await submit({ username: 'a\0b', password: 'wrong' })).status, 401)

  assert.equal((await submit(adminLogin, { 'sec-fetch-site': 'cross-site' })).status, 403)
  assert.equal((await submit(adminLogin, { origin: 'http://evil.example' })).status, 403)
  assert.equal((await submit(adminLogin, { origin: publicUrl })).status, 303)
  assert.equal((await submit(adminLogin, {})).status, 303)
})

test('a browser without a session gets the sign-in page; everything else under /admin is 401', async (t) => {
  const { url, publicUrl, adminKey } = await startKit(t)
  const away = await send(url, { path: '/admin' })
  assert.equal(away.status, 303)
  assert.equal(away.headers.location, '/admin/login')
  assert.equal((await send(url, { path: '/admin/anything' })).json.error, 'unauthorized')
  assert.equal((await send(url, { path: '/admin', headers: { authorization: `Bearer ${adminKey}` } })).status, 403)

  const browser = createCookieClient(url, publicUrl, cookieOf(await signIn(url)))
  const home = await browser.get('/admin')
  assert.equal(home.status, 200)
  assert.equal(bootOf(home.text).me.user?.username, 'admin')
  const out = await browser.post('/admin/logout', { form: {} })
  assert.equal(out.status, 303)
  assert.match(String(out.headers['set-cookie']), /Max-Age=0/)
  assert.equal((await browser.get('/admin')).status, 303)
})

test('every refused sign-in gets the same answer', async (t) => {
  const kit = await startKit(t)
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 2 } })
  const suspended = await makeUser(kit, 'suspended')
  await kit.admin.changeUser({ body: { operation: 'suspend', user_id: suspended } })
  await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'bare' } } })
  await makeUser(kit, 'locked')
  for (let i = 0; i < 2; i++) await signIn(kit.url, { username: 'locked', password: 'wrong' })

  const tries = [
    { username: 'nobody', password: 'x' },
    { username: 'admin', password: 'wrong' },
    { username: 'nowhere/admin', password: adminPassword },
    { username: 'bare', password: 'x' },
    loginOf('suspended'),
    loginOf('locked'),
  ]
  const bodies = new Set<string>()
  for (const body of tries) {
    const { status, json, headers } = await signIn(kit.url, body)
    assert.equal(status, 401, body.username)
    assert.equal(headers['set-cookie'], undefined)
    bodies.add(JSON.stringify({ ...json, request_id: '' }))
  }
  assert.equal(bodies.size, 1)
  const reasons = (await eventsOf(kit, 'login.failed')).map((e) => `${e.username} ${e.failure_reason}`)
  for (const reason of [
    'nobody unknown_user',
    'admin wrong_password',
    'nowhere/admin unknown_tenant',
    'bare no_password',
    'suspended suspended',
    'locked locked',
  ])
    assert.ok(reasons.includes(reason), reason)
})

test('a page of another site cannot use the cookie', async (t) => {
  const kit = await startKit(t)
  const cookie = cookieOf(await signIn(kit.url))
  const attempt = (headers: Record<string, string>) => {
    const json = { operation: 'create', group: { name: `g${Math.random()}` } }
    return send(kit.url, { method: 'POST', path: '/v1/admin/groups/lifecycle', json, headers: { cookie, ...headers } })
  }
  assert.equal((await attempt({})).status, 403)
  assert.equal((await attempt({ origin: 'http://evil.example' })).status, 403)
  assert.equal((await attempt({ 'sec-fetch-site': 'same-site' })).status, 403)
  assert.equal((await attempt({ origin: kit.publicUrl })).status, 201)
  assert.equal((await attempt({ 'sec-fetch-site': 'same-origin' })).status, 201)
  assert.equal((await attempt({ origin: kit.publicUrl, authorization: `Bearer ${kit.adminKey}` })).status, 401)
})

test('a user of another tenant signs in with the tenant name as prefix', async (t) => {
  const kit = await startKit(t)
  const tenant = await kit.newTenant('acme')
  const user = { username: 'admin', password: 'password of acme', roles: ['tenant_admin'] as const }
  await kit.app.identity.createUser(tenant, user)
  const signedIn = await signIn(kit.url, { username: 'acme/admin', password: 'password of acme' })
  assert.equal(signedIn.json.user.tenant_id, encodeId('tenant', tenant))
  assert.equal((await signIn(kit.url, { username: 'admin', password: 'password of acme' })).status, 401)
  const browser = createCookieClient(kit.url, kit.publicUrl, cookieOf(signedIn))
  assert.deepEqual(
    (await browser.get('/v1/admin/users')).json.items.map((u: { username: string }) => u.username),
    ['admin'],
  )
  assert.equal((await browser.get(`/v1/admin/users?tenant_id=${encodeId('tenant', kit.tenant)}`)).status, 403)
  assert.equal((await eventsOf(kit, 'login.succeeded')).length, 0)
})

test('the loopback names of a default installation share one origin, and other addresses do not', async (t) => {
  const alias = 'http://localhost:8080'
  const config = {
    publicUrl: 'http://127.0.0.1:8080',
    publicUrlIsSet: false,
    otherOrigins: [alias, 'http://[::1]:8080'],
  }
  const kit = await startKit(t, { config })
  const { secret } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const cookie = cookieOf(await signIn(kit.url))
  const prove = (origin: string) => {
    const key = generateKey('ES256')
    const proven = { method: 'POST', url: `${origin}/v1/enroll`, accessToken: secret, now: new Date() }
    return createProof(key.privateJwk, proven)
  }
  /** Every check of the request's origin: the answer at an allowed origin, and at any other. */
  const ways: [string, (origin: string) => Partial<RawRequest> & { path: string }, right: number, wrong: number][] = [
    ['login', (origin) => ({ path: '/admin/login', json: adminLogin, headers: { origin } }), 200, 403],
    ['the page', (origin) => ({ path: '/admin/login', form: adminLogin, headers: { origin } }), 303, 403],
    ['the code page', (origin) => ({ path: '/admin/login/code', form: { x: '1' }, headers: { origin } }), 401, 403],
    ['a room', (origin) => ({ path: '/admin/password', form: { x: '1' }, headers: { origin, cookie } }), 422, 403],
    ['a change', (origin) => ({ path: '/v1/admin/groups/lifecycle', json: {}, headers: { origin, cookie } }), 422, 403],
    [
      'a proof of possession',
      (origin) => ({
        path: '/v1/enroll',
        json: { device: { name: `d-${origin.length}`, platform: 'linux' } },
        headers: { authorization: `DPoP ${secret}`, dpop: prove(origin) },
      }),
      201,
      401,
    ],
  ]
  const strangers = [
    'http://localhost:3000',
    'https://localhost:8080',
    'http://evil.example:8080',
    'http://127.0.0.1',
    'null',
  ]
  const found: unknown[] = []
  for (const [name, sent, good, bad] of ways) {
    for (const origin of [config.publicUrl, alias, 'http://[::1]:8080', ...strangers]) {
      const { status } = await send(kit.url, { method: 'POST', ...sent(origin) })
      if (status !== (strangers.includes(origin) ? bad : good)) found.push([name, origin, status])
    }
  }
  assert.deepEqual(found, [])

  const elsewhere = await signIn(kit.url, adminLogin, { headers: { origin: 'http://10.0.0.5:8080' } })
  assert.equal(
    elsewhere.json.detail,
    'Sign in at http://127.0.0.1:8080, or set HOLDFAST_PUBLIC_URL to the address that people use: you used http://10.0.0.5:8080.',
  )

  // A provider redirects to the public URL, where the cookie of the sign-in must be.
  for (const path of ['/admin/login/oidc?provider=x', '/admin/login/saml?provider=x']) {
    const { status, headers } = await send(kit.url, { path, headers: { host: 'localhost:8080' } })
    assert.deepEqual([status, headers.location], [303, `http://127.0.0.1:8080${path}`])
    assert.notEqual((await send(kit.url, { path, headers: { host: 'evil.example:8080' } })).status, 303)
  }
})

test('with a public URL, requests to any other address are told the public URL', async (t) => {
  const kit = await startKit(t)
  const said = `http://holdfast.test: this server's public URL is set by HOLDFAST_PUBLIC_URL, and you used http://localhost:8080.`
  const headers = { origin: 'http://localhost:8080' }
  assert.equal((await signIn(kit.url, adminLogin, { headers })).json.detail, `Sign in at ${said}`)
  const strange = await signIn(kit.url, adminLogin, { headers: { origin: 'http://x y' } })
  assert.equal(strange.json.detail, 'a sign-in must be sent from this site')
  const page = await send(kit.url, { method: 'POST', path: '/admin/login', form: adminLogin, headers })
  assert.match(`${page.status} ${page.headers['content-type']}`, /^403 text\/html/)
  assert.match(page.text, /Sign in at http:\/\/holdfast\.test: .*HOLDFAST_PUBLIC_URL/)
  const cookie = cookieOf(await signIn(kit.url))
  const path = '/v1/admin/groups/lifecycle'
  const change = await send(kit.url, { method: 'POST', path, json: {}, headers: { ...headers, cookie } })
  assert.deepEqual([change.status, change.json.detail], [403, `Use ${said}`])
})
