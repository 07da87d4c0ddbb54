import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import {
  createAuthenticator,
  enrollFactor,
  makeUser,
  passwordOf,
  signInAs,
  trySignIn,
  untilNextStep,
} from '../support/actors/people.ts'
import { send } from '../support/clients/raw-http.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const statuses = (answers: { status: number }[]) => answers.map((a) => a.status).sort()
const onlyOne = (n: number, won: number, lost: number) => [won, ...Array(n - 1).fill(lost)].sort()

/** A code as people type it. */
const grouped = (code: string, by: string) => `${code.slice(0, 3)}${by}${code.slice(3)}`

test('a second factor', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { now: clock.now })

  await t.test('a second factor is enrolled with a code, and from then on every sign-in needs one', async () => {
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
    const verified = await person.post('/v1/admin/users/totp/verify', { code: grouped(app.code(), ' ') })
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
    assert.equal((await trySignIn(kit, 'ana', { totp: grouped(app.code(), '\u00a0-\u2013') })).status, 200)
    const methods = (await eventsOf(kit, 'login.succeeded')).map((e) => e.auth_method)
    assert.equal(methods[0], 'password+totp')
    const reasons = (await eventsOf(kit, 'login.failed')).map((e) => e.failure_reason)
    assert.deepEqual(reasons.sort(), ['missing_second_factor', 'wrong_second_factor', 'wrong_second_factor'])
    for (const kind of ['user.mfa_enrollment_started', 'user.mfa_enabled'] as const) {
      const [event] = (await eventsOf(kit, kind)).filter((e) => e.outcome === 'success')
      assert.equal(event?.user_id, user_id)
    }
    const written =
      JSON.stringify((await kit.admin.listAuditEvents({ query: { limit: 200 } })).items) + kit.logs.join('')
    for (const secret of [begun.json.secret, ...verified.json.recovery_codes]) assert.ok(!written.includes(secret))
  })

  await t.test('a form may bring the code with the password', async () => {
    await makeUser(kit, 'fay')
    const { app } = await enrollFactor(kit, 'fay', clock.now)
    clock.advance(60)
    const submit = (totp: string) =>
      send(kit.url, {
        method: 'POST',
        path: '/admin/login',
        form: { username: 'fay', password: passwordOf('fay'), totp, recovery_code: '' },
        headers: { 'sec-fetch-site': 'same-origin' },
      })
    const asked = await submit('')
    assert.deepEqual([asked.status, asked.headers['set-cookie']], [200, undefined], 'it is asked for')
    assert.equal((await submit(app.wrong())).status, 401)
    assert.equal((await submit(` ${grouped(app.code(), ' - ')} `)).status, 303)
  })

  await t.test('wrong codes lock the account like wrong passwords', async () => {
    await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 3 } })
    await makeUser(kit, 'lou')
    const { app, codes } = await enrollFactor(kit, 'lou', clock.now)
    for (let i = 0; i < 3; i++) assert.equal((await trySignIn(kit, 'lou', { totp: app.wrong() })).status, 401)
    assert.equal((await trySignIn(kit, 'lou', { recovery_code: codes[0]! })).status, 401)
    const locked = (await eventsOf(kit, 'account.locked')).filter((e) => e.username === 'lou')
    assert.equal(locked.length, 1)
  })

  await t.test('whatever is wrong with password, code or account, the answer is the same to the byte', async () => {
    await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 3 } })
    for (const username of ['ann', 'locked', 'suspended', 'left']) await makeUser(kit, username)
    const { app } = await enrollFactor(kit, 'ann', clock.now)
    const used = app.code()
    const [suspended] = (await kit.admin.listUsers({ query: { q: 'suspended' } })).items
    await kit.admin.suspendUser({ body: { user_id: suspended!.user_id } })
    const [left] = (await kit.admin.listUsers({ query: { q: 'left' } })).items
    const { secret: temporary } = await kit.admin.changePassword({
      body: { user_id: left!.user_id, generate: true },
    })
    clock.advance(86_401)
    for (let i = 0; i < 3; i++) await trySignIn(kit, 'locked', { password: 'wrong' })

    const tries: [string, Parameters<typeof trySignIn>[2], string][] = [
      ['nobody', {}, 'unknown_user'],
      ['ann', { password: 'wrong' }, 'wrong_password'],
      ['ann', {}, 'missing_second_factor'],
      ['locked', {}, 'locked'],
      ['suspended', {}, 'suspended'],
      ['left', { password: String(temporary) }, 'password_expired'],
      ['nowhere/ann', {}, 'unknown_tenant'],
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
    const [ann] = (await kit.admin.listUsers({ query: { q: 'ann' } })).items
    for (const more of [
      { totp: app.wrong() },
      { totp: used },
      { recovery_code: 'f'.repeat(32) },
      { recovery_code: '?' },
    ]) {
      await kit.admin.unlockUser({ body: { user_id: ann!.user_id } })
      await look('ann', more, 'wrong_second_factor')
    }
    assert.equal(answers.size, 1, [...answers].join('\n'))
  })
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

test('a code opens one sign-in, on two replicas', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await changeSecuritySettings(kit.admin, { login: { max_failures_per_ip: 1000, lockout_threshold: 100 } })

  await t.test('of many who show one code at once, on two replicas, one gets in', async () => {
    await makeUser(kit, 'ana')
    const { app } = await enrollFactor(kit, 'ana', clock.now)
    clock.advance(60)
    const code = app.code()
    const answers = await times(10, (i) => trySignIn(kit, 'ana', { totp: code }, { replica: kit.replicas[i % 2]! }))
    assert.deepEqual(statuses(answers), onlyOne(10, 200, 401))
    assert.equal((await trySignIn(kit, 'ana', { totp: app.code(-1) })).status, 401, 'an earlier code is over too')
    assert.equal((await trySignIn(kit, 'ana', { totp: app.code(1) })).status, 200, 'the next one counts')
  })

  await t.test('a recovery code opens one sign-in, once, however it is typed', async () => {
    await makeUser(kit, 'eve', ['viewer'])
    await makeUser(kit, 'bob', ['viewer'])
    const { codes, person } = await enrollFactor(kit, 'eve', clock.now)
    await enrollFactor(kit, 'bob', clock.now)
    const [first, second] = codes as [string, string]
    const answers = await times(8, (i) =>
      trySignIn(kit, 'eve', { recovery_code: first }, { replica: kit.replicas[i % 2]! }),
    )
    assert.deepEqual(statuses(answers), onlyOne(8, 200, 401))
    assert.equal((await person.get('/v1/admin/me')).json.session.recovery_codes_left, 9)
    assert.equal((await trySignIn(kit, 'bob', { recovery_code: second })).status, 401, 'it is of one user')
    const typed = second.toUpperCase().replaceAll('-', ' ')
    assert.equal((await trySignIn(kit, 'eve', { recovery_code: typed })).status, 200)
    assert.equal((await trySignIn(kit, 'eve', { recovery_code: 'x', password: 'wrong' })).status, 401)
    const methods = (await eventsOf(kit, 'login.succeeded')).map((e) => e.auth_method)
    assert.equal(methods.filter((m) => m === 'password+recovery_code').length, 2)
  })
})
