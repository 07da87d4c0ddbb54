import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '@holdfast/contract'
import { changeSecuritySettings } from '@holdfast/sdk'
import decodeQR from 'qr/decode.js'
import {
  createAuthenticator,
  enrollFactor,
  makeUser,
  passwordOf,
  trySignIn,
  untilNextStep,
  untilStatus,
} from '../support/actors/people.ts'
import { openBrowser } from '../support/clients/browser.ts'
import { send } from '../support/clients/raw-http.ts'
import { bootOf } from '../support/clients/strict-pages.ts'
import { createNetwork, type Network } from '../support/database/network-faults.ts'
import { adminPassword, createClock, startKit } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { startFederated } from '../support/providers/oidc-sign-in.ts'

const good = 'seven crabs walk sideways'
const alertIn = (text: string) => /role="alert" id="problem">([^<]*)</.exec(text)?.[1]
const titleOf = (text: string) => /<h1>([^<]*)<\/h1>/.exec(text)?.[1]

test('a browser is asked for the code after the password, and a code works once', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { now: clock.now, replicas: 2 })
  await makeUser(kit, 'ana', ['viewer'])
  const { app, codes } = await enrollFactor(kit, 'ana', clock.now)
  clock.advance(30)
  const browser = openBrowser(kit)
  const typed = { username: 'ana', password: passwordOf('ana') }
  const first = async (password = typed.password) =>
    browser.submit(await browser.get('/admin/login?next=/admin/x'), { ...typed, password })

  assert.equal((await trySignIn(kit, 'ana')).status, 401, 'a client that is no browser is told nothing')
  assert.match(alertIn((await first('wrong')).text) ?? '', /^Wrong username or password/)
  const asked = await first()
  assert.deepEqual([asked.status, titleOf(asked.text), asked.headers['set-cookie']], [200, 'One-time code', undefined])
  assert.ok(!asked.text.includes(typed.password))
  const wrong = await browser.submit(asked, { totp: app.wrong() })
  assert.deepEqual([wrong.status, titleOf(wrong.text)], [401, 'One-time code'])
  assert.match(alertIn(wrong.text) ?? '', /^Wrong code/)
  const code = app.code()
  const done = await browser.submit(wrong, { totp: `${code.slice(0, 3)} ${code.slice(3)}` })
  assert.deepEqual([done.status, done.headers.location], [303, '/admin/x'])
  assert.equal((await browser.get('/v1/admin/me', kit.replicas[1])).json.session.mfa, true)

  // A challenge is valid once, for one account and one password, for five minutes, and only from a page of this site.
  const again = openBrowser(kit)
  assert.equal((await again.submit(asked, { totp: code })).status, 401)
  assert.equal((await again.submit(asked, { challenge: 'x', totp: code })).status, 401)
  const elsewhere = await again.submit(asked, { recovery_code: codes[0]! }, { 'sec-fetch-site': 'cross-site' })
  assert.deepEqual([elsewhere.status, titleOf(elsewhere.text)], [403, 'Something went wrong'])
  assert.equal((await again.submit(asked, { recovery_code: codes[0]! })).status, 303)
  clock.advance(301)
  const late = await again.submit(asked, { recovery_code: codes[1]! })
  assert.match(alertIn(late.text) ?? '', /^You took too long/)
  const stale = await first()
  const [ana] = (await kit.admin.listUsers({ query: { q: 'ana' } })).items
  await kit.admin.changePassword({ body: { user_id: ana?.user_id ?? '', new_password: good } })
  assert.equal((await again.submit(stale, { recovery_code: codes[1]! })).status, 401)

  // An attempt from another site is recorded in the tenant of the account.
  const acme = await kit.newTenant('acme')
  const name = 'acme/bob'
  await kit.app.identity.createUser(acme, { username: 'bob', password: passwordOf(name), roles: [] })
  await enrollFactor(kit, name, clock.now)
  const bobs = await browser.submit(await browser.get('/admin/login'), { username: name, password: passwordOf(name) })
  assert.equal((await again.submit(bobs, { totp: '000000' }, { 'sec-fetch-site': 'cross-site' })).status, 403)
  const [tried] = await eventsOf({ admin: await kit.as('auditor', acme) }, 'login.failed')
  assert.deepEqual([tried?.username, tried?.failure_reason], ['bob', 'other_site'])

  // A right password does not reset the counter, and each wrong code counts: three lock the account.
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 3 } })
  for (let i = 0; i < 4; i++) assert.equal((await first(good)).status, 200)
  const last = await first(good)
  for (let i = 0; i < 3; i++) await again.submit(last, { totp: app.wrong() })
  assert.equal((await again.submit(last, { totp: app.code() })).status, 401)
  assert.ok((await eventsOf(kit, 'account.locked')).length >= 1)
  const challenged = await eventsOf(kit, 'login.challenged')
  assert.ok(challenged.length >= 6 && challenged.every((e) => e.user_id === ana?.user_id))
  const said = JSON.stringify([await kit.admin.listAuditEvents({ query: { limit: 200 } }), kit.logs])
  for (const secret of [good, typed.password, code]) assert.ok(!said.includes(secret))
})

test('a temporary password leads to a page for a new one, and from there to the console', async (t) => {
  const kit = await startKit(t)
  const user_id = await makeUser(kit, 'ana', ['viewer'])
  const { secret } = await kit.admin.changePassword({ body: { user_id, generate: true } })
  const browser = openBrowser(kit)
  const away = await browser.get('/admin/password')
  assert.deepEqual([away.status, away.headers.location], [303, '/admin/login?next=%2Fadmin%2Fpassword'])
  const entered = await browser.submit(await browser.get('/admin/login'), { username: 'ana', password: String(secret) })
  const page = await browser.follow(entered)
  assert.equal(titleOf(page.text), 'Set your own password')
  assert.equal((await browser.follow(await browser.get('/admin/second-factor'))).text, page.text, 'first things first')

  assert.match(page.text, /works for only one sign-in\. Enter it again/)
  const typed = { current_password: String(secret), new_password: good, again: good }
  const refusals: [Record<string, string>, RegExp][] = [
    [{ again: `${good}!` }, /^The two new passwords differ\.$/],
    [{ current_password: 'wrong' }, /^Temporary password is wrong\.$/],
    [{ new_password: 'short', again: 'short' }, /^New password must have at least 15 characters\.$/],
  ]
  for (const [more, words] of refusals) {
    const got = await browser.submit(page, { ...typed, ...more })
    assert.equal(got.status, 422)
    assert.match(alertIn(got.text) ?? '', words)
    assert.match(got.text, /aria-invalid="true"/)
  }
  const foreign = await browser.submit(page, typed, { 'sec-fetch-site': 'cross-site' })
  assert.equal(foreign.status, 403)
  const done = await browser.submit(page, typed)
  assert.deepEqual([done.status, done.headers.location], [303, '/admin'])
  assert.equal(bootOf((await browser.follow(done)).text).me.user?.username, 'ana')
  const refused = (await eventsOf(kit, 'request.refused')).filter((e) => e.operation === 'changePassword')
  assert.equal(refused.length, 4, 'on record like those of the API')
  const [changed] = await eventsOf(kit, 'user.password_changed')
  assert.deepEqual([changed?.method, changed?.outcome], ['own', 'success'])

  const out = await browser.submit(await browser.get('/admin'))
  assert.deepEqual([out.status, out.headers.location], [303, '/admin/signed-out'])
  assert.equal(titleOf((await browser.follow(out)).text), 'You are signed out')
  assert.equal((await browser.get('/v1/admin/me')).status, 401)
})

/** The text in the QR code of a page, as a camera reads it. */
function scan(text: string): string {
  const size = Number(/viewBox="0 0 (\d+) /.exec(text.slice(text.indexOf('class="qr"')))?.[1])
  const scale = 4
  const data = new Uint8Array((size * scale) ** 2 * 4).fill(255)
  for (const [, x, y] of text.matchAll(/M(\d+) (\d+)h1v1h-1z/g))
    for (let i = 0; i < scale * scale; i++) {
      const at = (Number(y) * scale + Math.floor(i / scale)) * size * scale + Number(x) * scale + (i % scale)
      data.fill(0, at * 4, at * 4 + 3)
    }
  return decodeQR({ width: size * scale, height: size * scale, data })
}

test('a role that requires an authenticator app leads to a page that sets one up', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { now: clock.now })
  await makeUser(kit, 'ana', ['auditor'])
  await changeSecuritySettings(kit.admin, { mfa: { required_roles: ['auditor'] } })
  const browser = openBrowser(kit)
  const typed = { username: 'ana', password: passwordOf('ana') }
  const page = await browser.follow(await browser.submit(await browser.get('/admin/login'), typed))
  assert.equal(titleOf(page.text), 'Set up an authenticator app')
  const wrong = await browser.submit(page, { current_password: 'wrong' })
  assert.deepEqual([wrong.status, alertIn(wrong.text)], [422, 'Password is wrong.'])
  const shown = await browser.submit(wrong, { current_password: typed.password })
  assert.equal(shown.status, 200, shown.text)
  const uri = scan(shown.text)
  assert.match(uri, /^otpauth:\/\/totp\/Holdfast:ana\?secret=[A-Z2-7]{32}&/)
  const app = createAuthenticator(new URL(uri).searchParams.get('secret') ?? '', clock.now)
  assert.match(shown.text, /<code class="key">(?:[A-Z2-7]{4} ){7}[A-Z2-7]{4}<\/code>/)
  const missed = await browser.submit(shown, { code: app.wrong() })
  assert.match(alertIn(missed.text) ?? '', /^Code is not the current code/)
  assert.equal(scan(missed.text), uri, 'the same picture again')
  const bent = await browser.submit(shown, { code: app.wrong(), shown: 'otpauth://totp/"><b>?secret=x' })
  assert.ok(!bent.text.includes('"><b>'))
  const done = await browser.submit(missed, { code: app.code() })
  assert.equal(done.status, 200)
  assert.equal(done.text.match(/<li><code>[0-9a-f]{4}(-[0-9a-f]{4}){7}<\/code>/g)?.length, 10)
  assert.equal(bootOf((await browser.get('/admin')).text).me.session?.required_action, null)
  assert.match((await browser.get('/admin/second-factor')).text, /Your account has an authenticator app/)
  for (const { text } of [page, shown, missed, done]) assert.doesNotMatch(text, /<script/)
})

test('an unknown address shows a browser the sign-in or a page, and clients JSON', async (t) => {
  const kit = await startKit(t)
  const browser = openBrowser(kit)
  await browser.submit(await browser.get('/admin/login'), { username: 'admin', password: adminPassword })
  const cookie = Array.from(browser.cookies, (pair) => pair.join('=')).join('; ')
  const html = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
  const key = { authorization: `Bearer ${kit.adminKey}` }
  const ask = (path: string, headers: Record<string, string>, method = 'GET') =>
    send(kit.url, { path, method, headers })
  const unknown = [
    '/',
    '/admin/',
    '/admin/x',
    '/admin/x/y?status=active&q=a%20b',
    '/admin/devices/dev_1/more',
    '/admin/logout',
    '/x',
    '/admin/%ff',
  ]
  for (const path of unknown) {
    const isRoot = path === '/' || path === '/admin/'
    for (const method of ['GET', 'HEAD']) {
      const stranger = await ask(path, html, method)
      const next = isRoot ? '' : `?${new URLSearchParams({ next: path })}`
      assert.deepEqual([stranger.status, stranger.headers.location], [303, `/admin/login${next}`], path)
      const stale = await ask(path, { ...html, cookie: 'holdfast_session=nonsense' }, method)
      assert.deepEqual([stale.status, stale.headers.location], [303, `/admin/login${next}`], path)
      const known = await ask(path, { ...html, cookie }, method)
      assert.deepEqual([known.status, known.headers.location], isRoot ? [303, '/admin'] : [404, undefined], path)
      for (const { headers } of [stranger, stale, known])
        for (const [name, value] of [
          ['x-content-type-options', /^nosniff$/],
          ['cache-control', /^no-store$/],
          ['referrer-policy', /^no-referrer$/],
          ['content-security-policy', /^default-src 'none'/],
          ['x-request-id', /^[0-9a-f]{32}$/],
        ] as const)
          assert.match(String(headers[name]), value, `${path} ${name}`)
      if (isRoot) continue
      assert.equal(known.headers['content-type'], 'text/html; charset=utf-8')
      if (method === 'GET') assert.equal(titleOf(known.text), 'No such page')
    }
    for (const [headers, status] of [
      [{}, 401],
      [{ accept: '*/*' }, 401],
      [{ accept: 'application/json' }, 401],
      [{ ...html, authorization: 'Bearer hfk_nonsense' }, 401],
      [key, 404],
      [{ ...key, ...html }, 404],
      [{ cookie, accept: '*/*' }, 404],
    ] as const) {
      const answer = await ask(path, headers)
      assert.deepEqual(
        [answer.status, answer.headers['content-type']],
        [status, 'application/json; charset=utf-8'],
        path,
      )
    }
    assert.equal((await ask(path, html, 'DELETE')).status, 401)
  }
  for (const path of [...new Set(operations.map(([, e]) => e.path))].filter((p) => p.startsWith('/v1'))) {
    const answer = await ask(path.replaceAll(/[{}]/g, ''), html)
    assert.match(`${answer.status} ${answer.headers['content-type']}`, /^401 application\/(scim\+)?json/, path)
  }
  assert.match((await ask('/v1/admin/x', { ...html, cookie })).headers['content-type'] ?? '', /^application\/json/)
})

test('the sign-in page of a tenant offers its providers, and a password only where it works', async (t) => {
  const { kit, provider } = await startFederated(t, { people: { anna: { name: 'anna' } } })
  const page = async (query = '') => (await openBrowser(kit).get(`/admin/login${query}`)).text
  assert.match(await page(), /name="password"[\s\S]*class="choice"/)
  await kit.newTenant('acme')
  const other = (await page('?tenant=acme')).replaceAll('acme', 'nobody')
  assert.equal(other, await page('?tenant=nobody'), 'the page does not reveal tenants')
  assert.match(other, /name="username"[^>]* value="nobody\/"/)
  assert.ok(!other.includes(provider.provider_id))

  const user_id = await makeUser(kit, 'safe', ['tenant_admin'])
  await kit.admin.setBreakGlass({ body: { user_id, break_glass: true } })
  await changeSecuritySettings(kit.admin, { login: { enforce_sso: true } })
  const only = await page('?next=/admin/x')
  assert.match(only, new RegExp(`href="/admin/login/oidc\\?provider=${provider.provider_id}&amp;next=%2Fadmin%2Fx"`))
  assert.doesNotMatch(only, /name="password"/)
  const link = /href="(\/admin\/login[^"]*with=password[^"]*)"/.exec(only)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const browser = openBrowser(kit)
  const form = await browser.get(link)
  assert.equal(titleOf(form.text), 'Break-glass sign-in')
  const failed = await browser.submit(form, { username: 'admin', password: 'wrong' })
  assert.deepEqual([failed.status, titleOf(failed.text)], [401, 'Break-glass sign-in'])
  const done = await browser.submit(failed, { username: 'safe', password: passwordOf('safe') })
  assert.deepEqual([done.status, done.headers.location], [303, '/admin/x'])
})

test('while the database is unavailable the pages say so, and recover by themselves', async (t) => {
  let network: Network | undefined
  const kit = await startKit(t, {
    route: async (url) => {
      network = await createNetwork(t, url)
      return network.url
    },
  })
  await makeUser(kit, 'ana')
  const typed = { username: 'ana', password: passwordOf('ana') }
  const inside = openBrowser(kit)
  await inside.submit(await inside.get('/admin/login'), typed)
  const form = await openBrowser(kit).get('/admin/login')
  network?.refuse(true)
  network?.cut()
  const away = /^The server cannot reach its database/
  for (const got of [
    await openBrowser(kit).get('/admin/login?tenant=another'),
    await openBrowser(kit).submit(form, typed),
    await inside.get('/admin/password'),
  ]) {
    assert.deepEqual([got.status, got.headers['retry-after']], [500, '2'], got.text)
    assert.match(alertIn(got.text) ?? '', away)
  }
  network?.mend()
  await untilStatus(() => openBrowser(kit).submit(form, typed), 303)
})
