import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { operations } from '@holdfast/contract'
import { encodeId } from '../../src/kernel/ids.ts'
import { eventsOf } from '../events.ts'
import { adminPassword, createClock, startKit, times } from '../kit.ts'
import { createAuthenticator, enrollFactor, makeUser, passwordOf, signInAs, trySignIn, untilStatus } from '../people.ts'
import { send } from '../raw-http.ts'

const statuses = (answers: { status: number }[]) => answers.map((a) => a.status).sort()
const onlyOne = (n: number, won: number, lost: number) => [won, ...Array(n - 1).fill(lost)].sort()
const emptyPolicy = { schema: 'holdfast.policy/1', rules: [] }

test('a second factor is enrolled with a code, and from then on every sign-in needs one', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const user_id = await makeUser(kit, 'ana', ['viewer'])
  const elsewhere = await signInAs(kit, 'ana')
  const person = await signInAs(kit, 'ana')
  const before = person.cookie()

  for (const [current_password, status] of [
    [undefined, 422],
    ['a stolen cookie knows none', 422],
  ] as const)
    assert.equal((await person.post('/v1/admin/users/totp/enroll', { current_password })).status, status)
  const begun = await person.post('/v1/admin/users/totp/enroll', { current_password: passwordOf('ana') })
  assert.match(begun.json.secret, /^[A-Z2-7]{32}$/)
  const uri = new URL(begun.json.provisioning_uri)
  assert.equal(`${uri.protocol}//${uri.host}${decodeURIComponent(uri.pathname)}`, 'otpauth://totp/Holdfast:ana')
  assert.equal(uri.searchParams.get('secret'), begun.json.secret)
  assert.equal(uri.searchParams.get('issuer'), 'Holdfast')
  assert.equal((await kit.admin.getUser({ params: { user_id } })).mfa.enabled, false)
  assert.equal((await trySignIn(kit, 'ana')).status, 200, 'nothing is asked before the code was shown')

  const app = createAuthenticator(begun.json.secret, clock.now)
  const wrong = await person.post('/v1/admin/users/totp/verify', { code: app.wrong() })
  assert.equal(wrong.status, 422)
  assert.equal(wrong.json.errors[0].field, 'code')
  const verified = await person.post('/v1/admin/users/totp/verify', { code: app.code() })
  assert.equal(verified.status, 200, verified.text)
  assert.equal(verified.json.mfa.enabled, true)
  assert.equal(new Set(verified.json.recovery_codes).size, 10)
  for (const code of verified.json.recovery_codes) assert.match(code, /^([0-9a-f]{4}-){7}[0-9a-f]{4}$/)

  assert.notEqual(person.cookie(), before)
  assert.equal((await send(kit.url, { path: '/v1/admin/me', headers: { cookie: before } })).status, 401)
  assert.equal((await elsewhere.get('/v1/admin/me')).status, 401)
  const me = await person.get('/v1/admin/me')
  assert.equal(me.json.session.mfa, true)
  assert.equal(me.json.session.recovery_codes_left, 10)
  assert.ok((await kit.admin.getUser({ params: { user_id } })).mfa.enrolled_at)
  assert.deepEqual(
    (await kit.admin.listUsers({ query: { mfa: true } })).items.map((u) => u.username),
    ['ana'],
  )

  const second = await person.post('/v1/admin/users/totp/enroll', { current_password: passwordOf('ana') })
  assert.equal(second.status, 422, 'there is one already')
  assert.equal((await trySignIn(kit, 'ana')).status, 401)
  assert.equal((await trySignIn(kit, 'ana', { totp: app.wrong() })).status, 401)
  assert.equal((await trySignIn(kit, 'ana', { totp: app.code() })).status, 401, 'the code of the enrollment is used')
  clock.advance(30)
  assert.equal((await trySignIn(kit, 'ana', { totp: app.code() })).status, 200)
  const methods = (await eventsOf(kit, 'login.succeeded')).map((e) => e.auth_method)
  assert.equal(methods[0], 'password+totp')
  const reasons = (await eventsOf(kit, 'login.failed')).map((e) => e.failure_reason)
  assert.deepEqual(reasons.sort(), ['missing_second_factor', 'wrong_second_factor', 'wrong_second_factor'])
  for (const kind of ['user.mfa_enrollment_started', 'user.mfa_enabled'] as const) {
    const [event] = (await eventsOf(kit, kind)).filter((e) => e.outcome === 'success')
    assert.equal(event?.user_id, user_id)
  }
  const written = JSON.stringify((await kit.admin.listAuditEvents({ query: { limit: 200 } })).items) + kit.logs.join('')
  for (const secret of [begun.json.secret, ...verified.json.recovery_codes]) assert.ok(!written.includes(secret))
})

test('another program makes the codes that are taken', async (t) => {
  if (spawnSync('oathtool', ['--version']).error) return t.skip('oathtool is not installed')
  const kit = await startKit(t)
  await makeUser(kit, 'ana')
  const person = await signInAs(kit, 'ana')
  const { secret } = (await person.post('/v1/admin/users/totp/enroll', { current_password: passwordOf('ana') })).json
  const code = spawnSync('oathtool', ['--totp', '--base32', secret]).stdout.toString().trim()
  assert.equal((await person.post('/v1/admin/users/totp/verify', { code })).status, 200)
})

test('of many who show one code at once, on two replicas, one gets in', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await kit.admin.updateSecuritySettings({ body: { login: { max_failures_per_ip: 1000, lockout_threshold: 100 } } })
  await makeUser(kit, 'ana')
  const { app } = await enrollFactor(kit, 'ana', clock.now)
  clock.advance(60)
  const code = app.code()
  const answers = await times(10, (i) => trySignIn(kit, 'ana', { totp: code }, { replica: kit.replicas[i % 2]! }))
  assert.deepEqual(statuses(answers), onlyOne(10, 200, 401))
  assert.equal((await trySignIn(kit, 'ana', { totp: app.code(-1) })).status, 401, 'an earlier code is over too')
  assert.equal((await trySignIn(kit, 'ana', { totp: app.code(1) })).status, 200, 'the next one counts')
})

test('a recovery code opens one sign-in, once, however it is typed', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await kit.admin.updateSecuritySettings({ body: { login: { max_failures_per_ip: 1000, lockout_threshold: 100 } } })
  await makeUser(kit, 'ana', ['viewer'])
  await makeUser(kit, 'bob', ['viewer'])
  const { codes, person } = await enrollFactor(kit, 'ana')
  await enrollFactor(kit, 'bob')
  const [first, second] = codes as [string, string]
  const answers = await times(8, (i) =>
    trySignIn(kit, 'ana', { recovery_code: first }, { replica: kit.replicas[i % 2]! }),
  )
  assert.deepEqual(statuses(answers), onlyOne(8, 200, 401))
  assert.equal((await person.get('/v1/admin/me')).json.session.recovery_codes_left, 9)
  assert.equal((await trySignIn(kit, 'bob', { recovery_code: second })).status, 401, 'it is of one user')
  const typed = second.toUpperCase().replaceAll('-', ' ')
  assert.equal((await trySignIn(kit, 'ana', { recovery_code: typed })).status, 200)
  assert.equal((await trySignIn(kit, 'ana', { recovery_code: 'x', password: 'wrong' })).status, 401)
  const methods = (await eventsOf(kit, 'login.succeeded')).map((e) => e.auth_method)
  assert.equal(methods.filter((m) => m === 'password+recovery_code').length, 2)
})

test('the form of the page takes the code too', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  await makeUser(kit, 'ana')
  const { app } = await enrollFactor(kit, 'ana', clock.now)
  clock.advance(60)
  const submit = (totp: string) =>
    send(kit.url, {
      method: 'POST',
      path: '/admin/login',
      form: { username: 'ana', password: passwordOf('ana'), totp, recovery_code: '' },
      headers: { 'sec-fetch-site': 'same-origin' },
    })
  const page = await send(kit.url, { path: '/admin/login' })
  for (const name of ['totp', 'recovery_code']) assert.ok(page.text.includes(`name="${name}"`))
  assert.equal((await submit('')).status, 401)
  assert.equal((await submit(app.code())).status, 303)
})

test('whatever is wrong with password, code or account, the answer is the same to the byte', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_threshold: 3 } } })
  for (const username of ['ana', 'locked', 'suspended', 'left']) await makeUser(kit, username)
  const { app } = await enrollFactor(kit, 'ana', clock.now)
  const used = app.code()
  const [suspended] = (await kit.admin.listUsers({ query: { q: 'suspended' } })).items
  await kit.admin.suspendUser({ body: { user_id: suspended!.user_id } })
  const [left] = (await kit.admin.listUsers({ query: { q: 'left' } })).items
  const { temporary_password: temporary } = await kit.admin.changePassword({
    body: { user_id: left!.user_id, generate: true },
  })
  clock.advance(86_401)
  for (let i = 0; i < 3; i++) await trySignIn(kit, 'locked', { password: 'wrong' })

  const tries: [string, Parameters<typeof trySignIn>[2], string][] = [
    ['nobody', {}, 'unknown_user'],
    ['ana', { password: 'wrong' }, 'wrong_password'],
    ['ana', {}, 'missing_second_factor'],
    ['locked', {}, 'locked'],
    ['suspended', {}, 'suspended'],
    ['left', { password: String(temporary) }, 'password_expired'],
    ['nowhere/ana', {}, 'unknown_tenant'],
  ]
  const answers = new Set<string>()
  const look = async (username: string, more: Parameters<typeof trySignIn>[2], reason: string) => {
    const got = await trySignIn(kit, username, more)
    const { date: _, 'x-request-id': id, ...headers } = got.headers
    assert.equal(got.status, 401, `${username} ${reason}`)
    answers.add(JSON.stringify([headers, got.text.replace(String(id), '')]))
    const [failed] = await eventsOf(kit, 'login.failed')
    assert.equal(failed?.failure_reason, reason)
    assert.equal(failed?.username, username)
  }
  for (const [username, more, reason] of tries) await look(username, more, reason)
  const [ana] = (await kit.admin.listUsers({ query: { q: 'ana' } })).items
  for (const more of [
    { totp: app.wrong() },
    { totp: used },
    { recovery_code: 'f'.repeat(32) },
    { recovery_code: '?' },
  ]) {
    await kit.admin.unlockUser({ body: { user_id: ana!.user_id } })
    await look('ana', more, 'wrong_second_factor')
  }
  assert.equal(answers.size, 1, [...answers].join('\n'))
})

test('wrong codes lock the account like wrong passwords', async (t) => {
  const kit = await startKit(t)
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_threshold: 3 } } })
  await makeUser(kit, 'ana')
  const { app, codes } = await enrollFactor(kit, 'ana')
  for (let i = 0; i < 3; i++) assert.equal((await trySignIn(kit, 'ana', { totp: app.wrong() })).status, 401)
  assert.equal((await trySignIn(kit, 'ana', { recovery_code: codes[0]! })).status, 401)
  assert.equal((await eventsOf(kit, 'account.locked')).length, 1)
})

test('an enrollment waits ten minutes, and starting again replaces it', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  await makeUser(kit, 'ana')
  const person = await signInAs(kit, 'ana')
  const start = async () =>
    createAuthenticator(
      (await person.post('/v1/admin/users/totp/enroll', { current_password: passwordOf('ana') })).json.secret,
      clock.now,
    )
  const verify = (code: string) => person.post('/v1/admin/users/totp/verify', { code })
  assert.equal((await verify('123456')).status, 422)
  const replaced = await start()
  const late = await start()
  assert.equal((await verify(replaced.code())).status, 422)
  clock.advance(601)
  assert.equal((await verify(late.code())).status, 422)
  const app = await start()
  const answers = await times(5, () => verify(app.code()))
  assert.equal(answers.filter((a) => a.status === 200).length, 1)
})

test('an administrator enrolls for someone and disables, within what they may; the sessions end', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const ana = await makeUser(kit, 'ana', ['viewer'])
  const { person, app } = await enrollFactor(kit, 'ana')
  const bare = await makeUser(kit, 'bare')
  const helpdesk = await kit.as('helpdesk')

  const { secret } = await helpdesk.enrollTotp({ body: { user_id: bare } })
  const { mfa, recovery_codes } = await helpdesk.verifyTotp({
    body: { user_id: bare, code: createAuthenticator(secret).code() },
  })
  assert.equal(mfa.enabled, true)
  assert.equal((await trySignIn(kit, 'bare', { recovery_code: recovery_codes[0]! })).status, 200)

  const [admin] = (await kit.admin.listUsers({ query: { q: 'admin' } })).items
  const [operator, viewer] = [await kit.as('operator'), await kit.as('viewer')]
  const refusals: [() => Promise<unknown>, RegExp][] = [
    [() => helpdesk.disableTotp({ body: { user_id: ana } }), /role viewer/],
    [() => helpdesk.enrollTotp({ body: { user_id: admin!.user_id } }), /role platform_admin/],
    [() => operator.enrollTotp({ body: { user_id: bare } }), /credentials:write/],
    [() => viewer.verifyTotp({ body: { user_id: bare, code: '123456' } }), /credentials:write/],
  ]
  for (const [refused, why] of refusals) await assert.rejects(refused, why)
  await assert.rejects(kit.admin.enrollTotp({ body: {} }), /user_id/)
  await assert.rejects(
    kit.admin.disableTotp({ body: { user_id: encodeId('user', crypto.randomUUID()) } }),
    /no such user/,
  )
  assert.equal((await person.post('/v1/admin/users/totp/disable', { user_id: ana })).status, 403)

  const disabled = await times(6, () => kit.admin.disableTotp({ body: { user_id: ana, reason: 'lost phone' } }))
  assert.equal(disabled.filter((d) => d.changed).length, 1)
  assert.equal(disabled.find((d) => d.changed)?.sessions_terminated, 1)
  assert.equal(disabled.find((d) => d.changed)?.user.mfa.enabled, false)
  for (const replica of kit.replicas) await untilStatus(() => person.get('/v1/admin/me', replica), 401)
  const events = (await eventsOf(kit, 'user.mfa_disabled')).filter((e) => e.outcome === 'success')
  assert.deepEqual(
    events.map((e) => [e.user_id, e.details]),
    [[ana, { reason: 'lost phone' }]],
  )
  assert.equal((await trySignIn(kit, 'ana', { totp: app.wrong() })).status, 200, 'a password is enough again')
})

test('a role that requires a second factor opens nothing but its enrollment', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await makeUser(kit, 'ana', ['tenant_admin'])
  await makeUser(kit, 'vic', ['viewer'])
  const [person, free] = [await signInAs(kit, 'ana'), await signInAs(kit, 'vic')]
  assert.equal((await person.get('/v1/admin/users')).status, 200)
  await kit.admin.updateSecuritySettings({ body: { mfa: { required_roles: ['tenant_admin', 'platform_admin'] } } })
  for (const replica of kit.replicas) await untilStatus(() => person.get('/v1/admin/users', replica), 403)
  assert.equal((await free.get('/v1/admin/users')).status, 200)
  assert.equal((await kit.admin.listUsers()).items.length, 3, 'an API key has no person behind it')

  const again = await signInAs(kit, 'ana')
  assert.equal(again.signedIn.json.required_action, 'enroll_mfa')
  assert.equal((await again.get('/v1/admin/me')).json.session.required_action, 'enroll_mfa')
  const open: string[] = []
  for (const [name, e] of operations) {
    if (e.access.by === 'anyone' || !e.access.by.includes('session') || name === 'logout') continue
    const path = e.path.replaceAll(/\{\w+\}/g, 'x')
    const body = e.method === 'GET' ? {} : { json: {} }
    const got = await again.request({ method: e.method, path, ...body })
    if (got.status === 403 && /enroll an authenticator app/.test(got.json.detail)) continue
    open.push(name)
  }
  assert.deepEqual(open.sort(), ['enrollTotp', 'me', 'verifyTotp'])
  const others = await again.post('/v1/admin/users/totp/enroll', {
    user_id: (await kit.admin.listUsers({ query: { q: 'vic' } })).items[0]!.user_id,
  })
  assert.equal(others.status, 403)
  assert.match((await again.get('/admin')).text, /authenticator app/)

  const { person: enrolled } = await enrollFactor(kit, 'ana', clock.now)
  for (const replica of kit.replicas) await untilStatus(() => enrolled.get('/v1/admin/users', replica), 200)
  assert.equal((await enrolled.get('/v1/admin/me')).json.session.required_action, null)
})

test('where step-up is on, changes that weigh much need a code not older than five minutes', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await makeUser(kit, 'root', ['platform_admin'])
  const { person, app } = await enrollFactor(kit, 'root', clock.now)
  const bare = await makeUser(kit, 'bare', ['platform_admin'])
  const withoutFactor = await signInAs(kit, 'bare')
  await kit.admin.updateSecuritySettings({ body: { mfa: { step_up: true } } })
  await untilStatus(() => withoutFactor.post('/v1/admin/rbac/grant', { user_id: bare, role: 'viewer' }), 403)
  const none = await withoutFactor.post('/v1/admin/rbac/grant', { user_id: bare, role: 'viewer' })
  assert.match(none.json.detail, /no authenticator app/)
  assert.equal((await withoutFactor.post('/v1/admin/auth/step-up', { code: '123456' })).status, 403)

  const guarded: [method: string, path: string, json: unknown][] = [
    ['POST', '/v1/admin/policy/publish', { channel: 'stable', policy: emptyPolicy }],
    ['POST', '/v1/admin/devices/batch', { operation: 'revoke', filter: { tag: 'none' } }],
    ['POST', '/v1/admin/rbac/grant', { user_id: bare, role: 'auditor' }],
    ['POST', '/v1/admin/api-keys', { name: 'way around', role: 'viewer' }],
    ['PUT', '/v1/admin/settings/security', { sessions: { idle_seconds: 900 } }],
    ['POST', '/v1/admin/users/totp/disable', { user_id: bare }],
  ]
  const free: typeof guarded = [
    ['POST', '/v1/admin/policy/publish', { channel: 'canary', policy: emptyPolicy }],
    ['POST', '/v1/admin/devices/batch', { operation: 'suspend', filter: { tag: 'none' } }],
    ['POST', '/v1/admin/rbac/revoke', { user_id: bare, role: 'auditor' }],
  ]
  const sendAll = async (list: typeof guarded) => {
    const got = []
    for (const [method, path, json] of list) got.push(await person.request({ method, path, json }))
    return got
  }
  clock.advance(301)
  for (const got of await sendAll(guarded)) {
    assert.equal(got.status, 403, got.text)
    assert.match(got.json.detail, /not older than 5 minutes: send one to POST \/v1\/admin\/auth\/step-up/)
  }
  for (const got of await sendAll(free)) assert.ok(got.status < 300 || got.status === 422, got.text)
  const refused = (await eventsOf(kit, 'request.refused')).filter((e) => e.operation === 'grantRole')
  assert.ok(refused.length >= 1)

  const before = { cookie: person.cookie(), session: (await person.get('/v1/admin/me')).json.session }
  assert.equal(before.session.stepped_up_until, null, 'enrolling a factor is no step-up')
  assert.equal((await person.post('/v1/admin/auth/step-up', { code: app.wrong() })).status, 422)
  const code = app.code()
  const raised = await person.post('/v1/admin/auth/step-up', { code })
  assert.equal(raised.status, 200, raised.text)
  assert.notEqual(raised.json.session_id, before.session.session_id)
  assert.equal(raised.json.expires_at, before.session.expires_at, 'it lasts no longer than before')
  assert.equal((await send(kit.url, { path: '/v1/admin/me', headers: { cookie: before.cookie } })).status, 401)
  const again = await person.post('/v1/admin/auth/step-up', { code })
  assert.equal(again.status, 422)
  assert.match(again.json.detail, /used already/)
  for (const [i, got] of (await sendAll(guarded)).entries())
    assert.ok(got.status < 300 || got.status === 422, `${i} ${got.text}`)
  const [stepped] = (await eventsOf(kit, 'session.stepped_up')).filter((e) => e.outcome === 'success')
  assert.equal(stepped?.session_id, raised.json.session_id)

  clock.advance(301)
  for (const got of await sendAll(guarded.slice(0, 4))) assert.equal(got.status, 403)
  const { bundle_id } = await kit.admin.publishPolicy({ body: { channel: 'stable', policy: emptyPolicy } })
  assert.ok(bundle_id, 'an API key is exempt')
  clock.advance(60)
  const fresh = await signInAs(kit, 'root', { totp: app.code() })
  const granted = await fresh.post('/v1/admin/rbac/grant', { user_id: bare, role: 'helpdesk' })
  assert.equal(granted.status, 200, 'a code at sign-in counts')
})

test('codes at step-up can not be guessed: the account locks', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_threshold: 4 } } })
  const user_id = await makeUser(kit, 'ana')
  const { person, app } = await enrollFactor(kit, 'ana')
  const answers = await times(12, (i) =>
    person.post('/v1/admin/auth/step-up', { code: app.wrong() }, kit.replicas[i % 2]!),
  )
  assert.equal(answers.filter((a) => a.status === 422).length, 4)
  assert.equal(answers.filter((a) => a.status === 403).length, 8)
  const [locked, ...more] = await eventsOf(kit, 'account.locked')
  assert.deepEqual([locked?.username, locked?.attempt_count, more.length], ['ana', 4, 0])
  assert.ok((await kit.admin.getUser({ params: { user_id } })).locked_until)
  assert.equal((await kit.admin.unlockUser({ body: { user_id } })).changed, true)
  assert.equal((await person.post('/v1/admin/auth/step-up', { code: app.code(1) })).status, 200)
})

test('the first administrator can have a second factor too', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const person = await signInAs(kit, 'admin', { password: adminPassword })
  const { secret } = (await person.post('/v1/admin/users/totp/enroll', { current_password: adminPassword })).json
  const app = createAuthenticator(secret, clock.now)
  assert.equal((await person.post('/v1/admin/users/totp/verify', { code: app.code() })).status, 200)
  clock.advance(30)
  assert.equal((await trySignIn(kit, 'admin', { password: adminPassword, totp: app.code() })).status, 200)
})
