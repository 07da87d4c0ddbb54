import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultSecuritySettings } from '@holdfast/contract/settings'
import { changeSecuritySettings } from '@holdfast/sdk'
import { sql } from 'kysely'
import {
  enrollFactor,
  makeUser,
  type Person,
  passwordOf,
  signInAs,
  trySignIn,
  untilNextStep,
} from '../support/actors/people.ts'
import { type Got, send } from '../support/clients/raw-http.ts'
import { adminPassword, createClock, startKit } from '../support/deployment/deployment.ts'
import { type Bound, eachLimit, looser, over } from '../support/domain/security-limits.ts'

test('nobody lifts a limit that binds them, by whatever route', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { now: clock.now })
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 3, max_failures_per_ip: 1000 } })
  const user_id = await makeUser(kit, 'root', ['platform_admin'])
  const { person, app, codes } = await enrollFactor(kit, 'root', clock.now)
  const made = await person.post('/v1/admin/api-keys', { name: 'mine', role: 'platform_admin' })
  const key = kit.clientFor(made.json.secret)
  for (let i = 0; i < 3; i++) await person.post('/v1/admin/auth/step-up', { code: app.wrong() })
  const lockedUntil = async () => (await kit.admin.getUser({ params: { user_id } })).locked_until
  const locked = await lockedUntil()
  assert.ok(locked)

  clock.advance(30)
  const current_password = passwordOf('root')
  const shown = { user_id, current_password }
  const routes: [path: string, body: object][] = [
    ['/v1/admin/users/unlock', { user_id }],
    ['/v1/admin/users/lifecycle', { operation: 'unlock', user_id }],
    ['/v1/admin/users/reactivate', { user_id }],
    ['/v1/admin/users/lifecycle', { operation: 'reactivate', user_id }],
    ['/v1/admin/users/password', { new_password: 'seven crabs walk sideways', current_password }],
    ['/v1/admin/users/password', { new_password: 'seven crabs walk sideways', ...shown }],
    ['/v1/admin/users/totp/disable', { user_id }],
    ['/v1/admin/users/totp/disable', { ...shown, code: app.code() }],
    ['/v1/admin/users/totp/disable', { ...shown, recovery_code: codes[0] }],
    ['/v1/admin/users/totp/enroll', {}],
    ['/v1/admin/users/totp/enroll', { current_password }],
    ['/v1/admin/auth/step-up', { code: app.code() }],
  ]
  for (const [path, body] of routes) {
    const got = await person.post(path, body)
    assert.ok(got.status === 403 || got.status === 422, `${path} ${got.status} ${got.text}`)
    assert.equal(await lockedUntil(), locked, path)
  }
  const withOwnKey = [
    () => key.unlockUser({ body: { user_id } }),
    () => key.changeUser({ body: { operation: 'unlock', user_id } }),
    () => key.changePassword({ body: { user_id, generate: true } }),
    () => key.disableTotp({ body: { user_id } }),
    () => key.enrollTotp({ body: { user_id } }),
  ]
  for (const refused of withOwnKey) await assert.rejects(refused, /your own account/)
  assert.equal(await lockedUntil(), locked)
  assert.equal((await person.get('/v1/admin/me')).json.session.mfa, true)
  assert.equal((await kit.admin.unlockUser({ body: { user_id } })).changed, true, 'somebody else opens it')
  assert.equal((await person.post('/v1/admin/auth/step-up', { code: app.code() })).status, 200)
})

test('the own second factor goes with the password and a code, and with nothing less', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { now: clock.now })
  const user_id = await makeUser(kit, 'root', ['platform_admin'])
  const { person, app, codes } = await enrollFactor(kit, 'root', clock.now)
  const path = '/v1/admin/users/totp/disable'
  clock.advance(30)
  const current_password = passwordOf('root')
  const tooLittle = [
    {},
    { current_password },
    { code: app.code() },
    { current_password: 'wrong', code: app.code() },
    { current_password, code: app.wrong() },
    { current_password, recovery_code: 'ffff'.repeat(8) },
  ]
  for (const shown of tooLittle) {
    const got = await person.post(path, { user_id, ...shown })
    assert.equal(got.status, 422, `${JSON.stringify(shown)} ${got.text}`)
  }
  const done = await person.post(path, { user_id, current_password, recovery_code: codes[0] })
  assert.deepEqual([done.status, done.json.changed, done.json.user.mfa.enabled], [200, true, false], done.text)
  assert.equal((await trySignIn(kit, 'root')).status, 200)
})

test('an own account at a provider is linked with fresh proof of the person only', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const user_id = await makeUser(kit, 'desk', ['helpdesk'])
  const { provider_id } = await kit.admin.createIdentityProvider({
    body: { name: 'Login', kind: 'oidc', enabled: false, oidc: { issuer: 'https://192.0.2.1', client_id: 'a' } },
  })
  const link = (person: Person) =>
    person.post(`/v1/admin/users/${user_id}/identities`, { provider_id, subject: 'mine' })
  const person = await signInAs(kit, 'desk')
  clock.advance(301)
  const stale = await link(person)
  assert.deepEqual([stale.status, /sign in again/.test(stale.text)], [403, true], stale.text)
  assert.equal((await link(await signInAs(kit, 'desk'))).status, 201)
})

test('settings that would bind their maker too, or contradict each other, are refused', async (t) => {
  const kit = await startKit(t)
  const person = await signInAs(kit, 'admin', { password: adminPassword })
  const put = async (named: object) => {
    const json = over(await kit.admin.getSecuritySettings(), named)
    return person.request({ method: 'PUT', path: '/v1/admin/settings/security', json })
  }
  const stepUp = await put({ mfa: { step_up: true } })
  assert.deepEqual([stepUp.status, stepUp.json.errors?.[0]?.field], [422, 'mfa.step_up'])
  const idle = await put({ sessions: { idle_seconds: 600, absolute_seconds: 300 } })
  assert.deepEqual([idle.status, idle.json.errors?.[0]?.field], [422, 'sessions.idle_seconds'])
  assert.equal((await put({ sessions: { absolute_seconds: 60 } })).status, 422, 'judged with what holds already')
  assert.equal((await put({ sessions: { idle_seconds: 300, absolute_seconds: 300 } })).status, 200)
})

test('what holds back its maker is loosened with fresh proof of them only, setting by setting', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { now: clock.now })
  const api = Object.fromEntries(Object.keys(looser.api).map((field) => [field, 100_000]))
  const strict = {
    ...defaultSecuritySettings,
    login: { ...defaultSecuritySettings.login, enforce_sso: true },
    api,
    mfa: { required_roles: ['auditor'], step_up: false },
  }
  const set = async (security: object) => {
    await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 9 } })
    await kit.db.inTenant(kit.tenant, (tx) =>
      tx
        .updateTable('tenant_settings')
        .set({ security: JSON.stringify(security) })
        .where('tenant_id', '=', kit.tenant)
        .execute(),
    )
  }
  await set(strict)
  for (const name of ['plain', 'root']) {
    const user_id = await makeUser(kit, name, ['tenant_admin'])
    await kit.admin.setBreakGlass({ body: { user_id, break_glass: true } })
  }
  const plain = await signInAs(kit, 'plain')
  const { person: root, app } = await enrollFactor(kit, 'root', clock.now)
  const made = await root.post('/v1/admin/api-keys', { name: 'of root', role: 'tenant_admin' })
  const { user } = await kit.admin.changeUser({
    body: { operation: 'create', user: { username: 'robot', kind: 'service' } },
  })
  await kit.admin.grantRole({ body: { user_id: user.user_id, role: 'tenant_admin' } })
  const automation = await kit.admin.createApiKey({
    body: { name: 'robot', role: 'tenant_admin', user_id: user.user_id },
  })
  const path = '/v1/admin/settings/security'
  const byKey = (secret: string) => (named: object) =>
    send(kit.url, { method: 'PUT', path, json: over(strict, named), headers: { authorization: `Bearer ${secret}` } })
  const bySession = (person: Person) => (named: object) =>
    person.request({ method: 'PUT', path, json: over(strict, named) })

  const tables: [who: string, put: (json: object) => Promise<Got>, refused: readonly Bound[]][] = [
    ['a session of long ago', bySession(plain), ['person']],
    ['a session without a fresh code', bySession(root), ['person']],
    ['the key of a person', byKey(made.json.secret), ['person', 'api_key']],
    ['the key of a service account', byKey(automation.secret), ['api_key']],
  ]
  clock.advance(301)
  const wrong: string[] = []
  let asked = 0
  const walk = async (table: typeof tables) => {
    for (const [who, put, refused] of table)
      for (const { section, field, binds, value } of eachLimit()) {
        if (section === 'mfa' && field === 'step_up') continue
        const got = await put({ [section]: { [field]: value } })
        const expected = refused.includes(binds) ? 403 : 200
        asked++
        if (got.status !== expected) wrong.push(`${who}: ${section}.${field} -> ${got.status} ${got.text}`)
        if (got.status === 200) await restore(section, field)
      }
  }
  const restore = (section: string, field: string) =>
    kit.db.inTenant(kit.tenant, (tx) =>
      sql`update tenant_settings set security = jsonb_set(security, ${[section, field]}::text[],
        ${JSON.stringify((strict as Record<string, Record<string, unknown>>)[section]?.[field])}::jsonb)
        where tenant_id = ${kit.tenant}`.execute(tx),
    )
  await walk(tables)
  assert.equal((await root.post('/v1/admin/auth/step-up', { code: app.code() })).status, 200)
  const again = await signInAs(kit, 'plain')
  await walk([
    ['a session with a fresh code', bySession(root), []],
    ['a session of just now', bySession(again), []],
  ])
  assert.deepEqual(wrong, [])
  t.diagnostic(`${asked} changes`)

  assert.equal((await byKey(made.json.secret)({ mfa: { step_up: true } })).status, 422, 'and a key turns nothing on')
  assert.equal((await byKey(automation.secret)({ mfa: { step_up: true } })).status, 200)
  assert.equal((await bySession(root)({ mfa: { step_up: false } })).status, 200, 'a fresh code turns it off')
  assert.equal((await bySession(plain)({ login: { lockout_threshold: 5 } })).status, 200, 'stricter is always possible')
})
