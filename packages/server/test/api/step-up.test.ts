import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import { enrollFactor, makeUser, signInAs, untilNextStep, untilStatus } from '../support/actors/people.ts'
import { send } from '../support/clients/raw-http.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const emptyPolicy = { schema: 'holdfast.policy/1', rules: [] }

test('where step-up is on, changes that weigh much need a code not older than five minutes', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await makeUser(kit, 'root', ['platform_admin'])
  const { person, app } = await enrollFactor(kit, 'root', clock.now)
  const bare = await makeUser(kit, 'bare', ['platform_admin'])
  const withoutFactor = await signInAs(kit, 'bare')
  await changeSecuritySettings(kit.admin, { mfa: { step_up: true } })
  await untilStatus(() => withoutFactor.post('/v1/admin/rbac/grant', { user_id: bare, role: 'viewer' }), 403)
  const none = await withoutFactor.post('/v1/admin/rbac/grant', { user_id: bare, role: 'viewer' })
  assert.match(none.json.detail, /no authenticator app/)
  assert.equal((await withoutFactor.post('/v1/admin/auth/step-up', { code: '123456' })).status, 403)

  const settings = { require_device_key: true, approval: true }
  const guarded: [method: string, path: string, json: unknown][] = [
    ['POST', '/v1/admin/policy/publish', { channel: 'stable', policy: emptyPolicy }],
    ['POST', '/v1/admin/devices/batch', { operation: 'revoke', filter: { tag: 'none' } }],
    ['POST', '/v1/admin/rbac/grant', { user_id: bare, role: 'auditor' }],
    ['POST', '/v1/admin/api-keys', { name: 'way around', role: 'viewer' }],
    ['PUT', '/v1/admin/settings/security', { ...(await kit.admin.getSecuritySettings()), devices: settings }],
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
  assert.equal(granted.status, 201, 'a code at sign-in counts')
})

test('codes at step-up can not be guessed: the account locks', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 4 } })
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
  assert.equal(
    (await person.post('/v1/admin/auth/step-up', { code: app.code(1).replace(/(?=...$)/, ' ') })).status,
    200,
  )
})
