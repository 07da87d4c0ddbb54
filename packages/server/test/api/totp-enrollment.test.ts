import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '@holdfast/contract'
import { changeSecuritySettings } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import {
  createAuthenticator,
  enrollFactor,
  makeUser,
  passwordOf,
  signInAs,
  trySignIn,
  untilNextStep,
  untilStatus,
} from '../support/actors/people.ts'
import { adminPassword, createClock, type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

type Clock = ReturnType<typeof createClock>
test('a second factor is enrolled', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await t.test('an enrollment waits ten minutes, and starting again replaces it', () => inTime(kit, clock))
  await t.test('an administrator enrolls for someone and disables, within what they may; the sessions end', () =>
    forSomeone(kit, clock),
  )
  await t.test('the first administrator can have a second factor too', () => firstOne(kit, clock))
  await t.test('a role that requires a second factor opens nothing but its enrollment', () => required(kit, clock))
})

async function inTime(kit: Kit, clock: Clock): Promise<void> {
  await makeUser(kit, 'ivy')
  const person = await signInAs(kit, 'ivy')
  const start = async () =>
    createAuthenticator(
      (await person.post('/v1/admin/users/totp/enroll', { current_password: passwordOf('ivy') })).json.secret,
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
}

async function forSomeone(kit: Kit, clock: Clock): Promise<void> {
  const mia = await makeUser(kit, 'mia', ['viewer'])
  const { person, app } = await enrollFactor(kit, 'mia', clock.now)
  const bare = await makeUser(kit, 'bare')
  const helpdesk = await kit.as('helpdesk')

  const { secret } = await helpdesk.enrollTotp({ body: { user_id: bare } })
  const { mfa, recovery_codes } = await helpdesk.verifyTotp({
    body: { user_id: bare, code: createAuthenticator(secret, clock.now).code() },
  })
  assert.equal(mfa.enabled, true)
  assert.equal((await trySignIn(kit, 'bare', { recovery_code: recovery_codes[0]! })).status, 200)

  const [admin] = (await kit.admin.listUsers({ query: { q: 'admin' } })).items
  const [operator, viewer] = [await kit.as('operator'), await kit.as('viewer')]
  const refusals: [() => Promise<unknown>, RegExp][] = [
    [() => helpdesk.disableTotp({ body: { user_id: mia } }), /role viewer/],
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
  assert.equal((await person.post('/v1/admin/users/totp/disable', { user_id: mia })).status, 403)

  const disabled = await times(6, () => kit.admin.disableTotp({ body: { user_id: mia, reason: 'lost phone' } }))
  assert.equal(disabled.filter((d) => d.changed).length, 1)
  assert.equal(disabled.find((d) => d.changed)?.sessions_terminated, 1)
  assert.equal(disabled.find((d) => d.changed)?.user.mfa.enabled, false)
  for (const replica of kit.replicas) await untilStatus(() => person.get('/v1/admin/me', replica), 401)
  const events = (await eventsOf(kit, 'user.mfa_disabled')).filter((e) => e.outcome === 'success')
  assert.deepEqual(
    events.map((e) => [e.user_id, e.details]),
    [[mia, { reason: 'lost phone' }]],
  )
  assert.equal((await trySignIn(kit, 'mia', { totp: app.wrong() })).status, 200, 'a password is enough again')
}

async function firstOne(kit: Kit, clock: Clock): Promise<void> {
  const person = await signInAs(kit, 'admin', { password: adminPassword })
  const { secret } = (await person.post('/v1/admin/users/totp/enroll', { current_password: adminPassword })).json
  const app = createAuthenticator(secret, clock.now)
  assert.equal((await person.post('/v1/admin/users/totp/verify', { code: app.code() })).status, 200)
  clock.advance(30)
  assert.equal((await trySignIn(kit, 'admin', { password: adminPassword, totp: app.code() })).status, 200)
}

async function required(kit: Kit, clock: Clock): Promise<void> {
  await makeUser(kit, 'ana', ['tenant_admin'])
  await makeUser(kit, 'vic', ['viewer'])
  const [person, free] = [await signInAs(kit, 'ana'), await signInAs(kit, 'vic')]
  assert.equal((await person.get('/v1/admin/users')).status, 200)
  await changeSecuritySettings(kit.admin, { mfa: { required_roles: ['tenant_admin', 'platform_admin'] } })
  for (const replica of kit.replicas) await untilStatus(() => person.get('/v1/admin/users', replica), 403)
  assert.equal((await free.get('/v1/admin/users')).status, 200)
  assert.equal((await kit.admin.listUsers()).items.length, 6, 'an API key has no person behind it')

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
  for (const page of ['/admin', '/admin/password'])
    assert.equal((await again.get(page)).headers.location, '/admin/second-factor')
  const form = { current_password: passwordOf('ana'), new_password: 'seven crabs walk', again: 'seven crabs walk' }
  assert.equal((await again.request({ method: 'POST', path: '/admin/password', form })).status, 403)

  const { person: enrolled } = await enrollFactor(kit, 'ana', clock.now)
  for (const replica of kit.replicas) await untilStatus(() => enrolled.get('/v1/admin/users', replica), 200)
  assert.equal((await enrolled.get('/v1/admin/me')).json.session.required_action, null)
}
