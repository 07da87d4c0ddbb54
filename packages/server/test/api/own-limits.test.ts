import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminPassword, createClock, startKit } from '../kit.ts'
import { enrollFactor, makeUser, passwordOf, signInAs, trySignIn } from '../people.ts'

test('nobody lifts a limit that binds them, by whatever route', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_threshold: 3, max_failures_per_ip: 1000 } } })
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
  const clock = createClock()
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

test('settings that would bind their maker too, or contradict each other, are refused', async (t) => {
  const kit = await startKit(t)
  const person = await signInAs(kit, 'admin', { password: adminPassword })
  const put = (json: unknown) => person.request({ method: 'PUT', path: '/v1/admin/settings/security', json })
  const stepUp = await put({ mfa: { step_up: true } })
  assert.deepEqual([stepUp.status, stepUp.json.errors?.[0]?.field], [422, 'mfa.step_up'])
  const idle = await put({ sessions: { idle_seconds: 600, absolute_seconds: 300 } })
  assert.deepEqual([idle.status, idle.json.errors?.[0]?.field], [422, 'sessions.idle_seconds'])
  assert.equal((await put({ sessions: { absolute_seconds: 60 } })).status, 422, 'judged with what holds already')
  assert.equal((await put({ sessions: { idle_seconds: 300, absolute_seconds: 300 } })).status, 200)
})
