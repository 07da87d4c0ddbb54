import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import { enrollFactor, makeUser, passwordOf, signInAs, trySignIn, untilStatus } from '../support/actors/people.ts'
import { send } from '../support/clients/raw-http.ts'
import { createClock, type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const path = '/v1/admin/users/password'
const good = 'seven crabs walk sideways'
type Clock = ReturnType<typeof createClock>

test('passwords', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await t.test(
    'the own password changes with the current one; other sessions end, and this one continues under a new id',
    () => changeOwnPassword(kit),
  )
  await t.test('of two concurrent changes of one password, one succeeds and the other is refused', () =>
    changeTwiceConcurrently(kit),
  )
  await t.test('an administrator sets the password of a weaker user, and the sessions of that user end', () =>
    changeAsAdministrator(kit),
  )
  await t.test('a generated password opens one session, which must set a new one first', () =>
    useGeneratedPassword(kit),
  )
  await t.test('guessing the current password from a session locks the account', () => guessCurrentPassword(kit))
  await t.test('an unused generated password expires after a day', () => expireUnusedPassword(kit, clock))
  await t.test("passwords are judged by length, blocklist and context by the tenant's settings, on every replica", () =>
    judgePasswords(kit, clock),
  )
})

async function changeOwnPassword(kit: Kit): Promise<void> {
  const user_id = await makeUser(kit, 'ana', ['viewer'])
  const [person, other] = [await signInAs(kit, 'ana'), await signInAs(kit, 'ana')]
  const before = person.cookie()
  const ask = (json: object) => person.post(path, json)

  const refusals: [object, string][] = [
    [{ new_password: good }, 'current_password'],
    [{ new_password: good, current_password: 'not it, surely not' }, 'current_password'],
    [{ current_password: passwordOf('ana') }, 'new_password'],
    [{ new_password: good, generate: true, current_password: passwordOf('ana') }, 'new_password'],
    [{ generate: true, current_password: passwordOf('ana') }, 'generate'],
    [{ new_password: passwordOf('ana'), current_password: passwordOf('ana') }, 'new_password'],
  ]
  for (const [json, field] of refusals) {
    const got = await ask(json)
    assert.equal(got.status, 422, JSON.stringify(json))
    assert.equal(got.json.errors[0].field, field, got.text)
  }
  assert.equal((await trySignIn(kit, 'ana')).status, 200, 'none of that changed anything')

  const changed = await ask({ new_password: good, current_password: passwordOf('ana') })
  assert.equal(changed.status, 200, changed.text)
  assert.equal(changed.json.user.user_id, user_id)
  assert.equal(changed.json.sessions_terminated, 2)
  assert.notEqual(person.cookie(), before)
  for (const replica of kit.replicas) {
    await untilStatus(() => other.get('/v1/admin/me', replica), 401)
    await untilStatus(() => send(replica.url, { path: '/v1/admin/me', headers: { cookie: before } }), 401)
    await untilStatus(() => person.get('/v1/admin/me', replica), 200)
  }
  assert.equal((await trySignIn(kit, 'ana')).status, 401)
  assert.equal((await trySignIn(kit, 'ana', { password: good })).status, 200)
  const [event] = (await eventsOf(kit, 'user.password_changed')).filter((e) => e.outcome === 'success')
  assert.deepEqual([event?.user_id, event?.method], [user_id, 'own'])
  const written = JSON.stringify((await kit.admin.listAuditEvents({ query: { limit: 200 } })).items) + kit.logs.join('')
  for (const secret of [good, passwordOf('ana'), 'not it, surely not']) assert.ok(!written.includes(secret))
}

async function changeTwiceConcurrently(kit: Kit): Promise<void> {
  await makeUser(kit, 'tom')
  const people = [await signInAs(kit, 'tom'), await signInAs(kit, 'tom')]
  const answers = await Promise.all(
    people.map((person, i) =>
      person.post(path, { new_password: `${good} ${i}`, current_password: passwordOf('tom') }, kit.replicas[i]!),
    ),
  )
  assert.deepEqual(answers.map((a) => a.status).filter((s) => s === 200).length, 1)
  const opens = await Promise.all([0, 1].map((i) => trySignIn(kit, 'tom', { password: `${good} ${i}` })))
  assert.deepEqual(
    opens.map((a) => a.status),
    answers.map((a) => (a.status === 200 ? 200 : 401)),
  )
}

async function changeAsAdministrator(kit: Kit): Promise<void> {
  const ana = await makeUser(kit, 'ada')
  const vic = await makeUser(kit, 'vic', ['viewer'])
  const person = await signInAs(kit, 'ada')
  const helpdesk = await kit.as('helpdesk')
  const set = (client: typeof helpdesk, user_id: string) =>
    client.changePassword({ body: { user_id, new_password: good } })

  const done = await set(helpdesk, ana)
  assert.deepEqual([done.changed, done.sessions_terminated, done.secret], [true, 1, undefined])
  for (const replica of kit.replicas) await untilStatus(() => person.get('/v1/admin/me', replica), 401)
  const signedIn = await trySignIn(kit, 'ada', { password: good })
  assert.equal(signedIn.json.required_action, null)

  await assert.rejects(set(helpdesk, vic), /role viewer/)
  const [admin] = (await kit.admin.listUsers({ query: { q: 'admin' } })).items
  for (const role of ['helpdesk', 'tenant_admin', 'security_admin', 'operator', 'auditor', 'viewer'] as const)
    await assert.rejects(set(await kit.as(role), admin!.user_id), /403|that you do not have|credentials:write/)
  await assert.rejects(kit.admin.changePassword({ body: { new_password: good } }), /user_id/)
  await assert.rejects(
    kit.admin.changePassword({ body: { user_id: ana, new_password: good, current_password: good } }),
    /current_password/,
  )
  const other = await kit.as('tenant_admin', await kit.newTenant())
  await assert.rejects(set(other, ana), /no such user/)
  const refused = (await eventsOf(kit, 'request.refused')).filter((e) => e.operation === 'changePassword')
  assert.ok(refused.length >= 9, String(refused.length))
}

async function useGeneratedPassword(kit: Kit): Promise<void> {
  const user_id = await makeUser(kit, 'gil', ['tenant_admin'])
  const bob = await makeUser(kit, 'bob')
  const made = await kit.admin.changePassword({ body: { user_id, generate: true } })
  const password = String(made.secret)
  assert.match(password, /^[A-Za-z0-9_-]{20}$/)
  assert.ok(made.expires_at)
  assert.equal((await trySignIn(kit, 'gil')).status, 401)

  const answers = await times(6, (i) => trySignIn(kit, 'gil', { password }, { replica: kit.replicas[i % 2]! }))
  assert.equal(answers.filter((a) => a.status === 200).length, 1, 'it opens one session')
  const again = await kit.admin.changePassword({ body: { user_id, generate: true } })
  const temporary = String(again.secret)
  const person = await signInAs(kit, 'gil', { password: temporary })
  assert.equal(person.signedIn.json.required_action, 'change_password')
  const refused = await person.get('/v1/admin/users')
  assert.equal(refused.status, 403)
  assert.match(refused.json.detail, /set your own password with POST \/v1\/admin\/users\/password/)
  assert.equal((await person.post(path, { user_id: bob, new_password: good })).status, 403)
  assert.equal((await person.get('/v1/admin/me')).json.session.required_action, 'change_password')

  const changed = await person.post(path, { new_password: good, current_password: temporary })
  assert.equal(changed.status, 200, changed.text)
  for (const replica of kit.replicas) await untilStatus(() => person.get('/v1/admin/users', replica), 200)
  assert.equal((await trySignIn(kit, 'gil', { password: good })).json.required_action, null)
  const methods = (await eventsOf(kit, 'user.password_changed')).filter(
    (e) => e.outcome === 'success' && e.user_id === user_id,
  )
  assert.deepEqual(
    methods.map((e) => e.method),
    ['own', 'generated', 'generated'],
  )
  const written = JSON.stringify((await kit.admin.listAuditEvents({ query: { limit: 200 } })).items) + kit.logs.join('')
  for (const secret of [password, temporary]) assert.ok(!written.includes(secret))
}

async function guessCurrentPassword(kit: Kit): Promise<void> {
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 3 } })
  await makeUser(kit, 'gus')
  const person = await signInAs(kit, 'gus')
  const answers = await times(8, (i) => person.post(path, { new_password: good, current_password: `guess ${i}` }))
  assert.equal(answers.filter((a) => a.status === 422).length, 3)
  assert.equal(answers.filter((a) => a.status === 403).length, 5)
  assert.equal((await eventsOf(kit, 'account.locked')).length, 1)
  assert.equal((await person.post(path, { new_password: good, current_password: passwordOf('gus') })).status, 403)
}

async function expireUnusedPassword(kit: Kit, clock: Clock): Promise<void> {
  const user_id = await makeUser(kit, 'una')
  const { secret } = await kit.admin.changePassword({ body: { user_id, generate: true } })
  clock.advance(86_401)
  assert.equal((await trySignIn(kit, 'una', { password: String(secret) })).status, 401)
}

async function judgePasswords(kit: Kit, clock: Clock): Promise<void> {
  const user_id = await makeUser(kit, 'montgomery')
  await kit.admin.changeUser({ body: { operation: 'update', user_id, user: { email: 'm.burns@example.org' } } })
  const set = async (new_password: string, replica = kit.replicas[0]!) => {
    try {
      await kit.clientFor(kit.adminKey, replica).changePassword({ body: { user_id, new_password } })
      return 'taken'
    } catch (e) {
      return String(e)
    }
  }
  assert.match(await set('kfu7-fhw2-mnqp'), /new_password: must have at least 15/)
  assert.match(await set('passwordPASSWORD'), /is a common password/)
  assert.match(await set('montgomery-2026!'), /the name of the account/)
  assert.match(await set('m.burns-m.burns-'), /the name of the account/)
  assert.match(await set('holdfast holdfast'), /the name of the account/)
  assert.match(await set('x'.repeat(200)), /at most 128/)
  assert.match(await set('zzzzzzzzzzzzzzzzzz'), /repeats a short text/)
  assert.equal(await set('kfu7 fhw2 mnqpx'), 'taken')

  assert.equal(await set('pässwörter sind schön'.normalize('NFD')), 'taken')
  assert.equal((await trySignIn(kit, 'montgomery', { password: 'pässwörter sind schön'.normalize('NFC') })).status, 200)

  await changeSecuritySettings(kit.admin, { passwords: { min_length: 20 } })
  await until(async () => (await set('kfu7 fhw2 mnqpxyz', kit.replicas[1]!)) !== 'taken')
  await assert.rejects(changeSecuritySettings(kit.admin, { passwords: { min_length: 7 } }), /min_length/)

  await makeUser(kit, 'zoe')
  const { person } = await enrollFactor(kit, 'zoe', clock.now)
  const short = (new_password: string) => person.post(path, { new_password, current_password: passwordOf('zoe') })
  assert.match((await short('kfu7fhw')).json.detail, /at least 8/)
  assert.equal((await short('kfu7fhw2')).status, 200, 'eight are enough with a second factor')
}
