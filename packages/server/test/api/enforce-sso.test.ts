import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import { sql } from 'kysely'
import { bootstrap } from '../../src/app/bootstrap.ts'
import { everything } from '../../src/replication/changes.ts'
import {
  createAuthenticator,
  makeUser,
  passwordOf,
  signInAs,
  trySignIn,
  untilStatus,
} from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { adminPassword, type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { inbox } from '../support/domain/notifications.ts'
import { signedInAs, startFederated } from '../support/providers/oidc-sign-in.ts'

const people = { anna: { name: 'anna' }, ben: { name: 'ben' } }
const enforce = (kit: Kit, enforce_sso = true) => changeSecuritySettings(kit.admin, { login: { enforce_sso } })
const mark = (kit: Kit, user_id: string, break_glass = true) =>
  kit.admin.setBreakGlass({ body: { user_id, break_glass } })
const lock = (kit: Kit, id: string) => kit.admin.createLock({ body: { target: { type: 'user', id }, reason: 'tried' } })
const holders = async (kit: Kit) => (await kit.admin.listUsers({ query: { role: 'tenant_admin' } })).items

test('single sign-on can be enforced, and the last fallback account or provider cannot be removed', async (t) => {
  const { kit, params, set, signIn, reasons } = await startFederated(t, {
    people,
    settings: { provisioning: 'create' },
    replicas: 2,
  })
  const ana = await makeUser(kit, 'ana', ['tenant_admin'])
  const safe = await makeUser(kit, 'safe', ['tenant_admin'])
  const viewer = await makeUser(kit, 'viewer', ['viewer'])

  // Enforcing requires a usable break-glass user and a provider.
  await assert.rejects(enforce(kit), refused(422, /login.enforce_sso: needs an active break-glass user/))
  await mark(kit, viewer)
  await assert.rejects(enforce(kit), refused(422, /platform_admin or tenant_admin/), 'a viewer mends nothing')
  await mark(kit, safe)
  await kit.admin.changePassword({ body: { user_id: safe, generate: true } })
  await assert.rejects(
    enforce(kit),
    refused(422, /a password that is not temporary/),
    'nor who must change theirs first',
  )
  await kit.admin.changePassword({ body: { user_id: safe, new_password: passwordOf('safe') } })
  await set({ sign_in: false })
  await assert.rejects(enforce(kit), refused(422, /needs an identity provider/))
  await set({ sign_in: true })

  const [ofPassword, ofSafe] = [await signInAs(kit, 'ana'), await signInAs(kit, 'safe')]
  const { browser } = await signIn('anna')
  const ofProvider = browser.cookies.get('holdfast_session')
  const [anna] = (await kit.admin.listUsers({ query: { source: 'sso' } })).items
  await enforce(kit)
  for (const replica of kit.replicas) {
    await untilStatus(() => ofPassword.get('/v1/admin/me', replica), 401)
    assert.equal((await ofSafe.get('/v1/admin/me', replica)).status, 200, 'break-glass sessions go on')
    assert.equal(await signedInAs(kit, ofProvider, replica), 'anna')
    assert.equal((await kit.clientFor(kit.adminKey, replica).me()).credential, 'api_key')
  }
  const ended = await eventsOf(kit, 'session.expired')
  assert.ok(
    ended.some((e) => e.user_id === ana),
    'on record',
  )
  const [changed] = await eventsOf(kit, 'security_settings.updated')
  assert.deepEqual(changed?.changes, { 'login.enforce_sso': [false, true] })

  // Every password gets the same 401; the reason is in the audit log.
  const wrong = await trySignIn(kit, 'ana', { password: 'wrong' })
  for (const replica of kit.replicas) {
    const right = await trySignIn(kit, 'ana', {}, { replica })
    assert.deepEqual([right.status, right.json.detail], [401, wrong.json.detail])
    assert.deepEqual(await reasons(1), ['sso_enforced'])
  }
  assert.equal((await trySignIn(kit, 'anna')).status, 401)
  assert.deepEqual(await reasons(1), ['external_account'])

  // Break-glass sign-ins: each is marked and notified.
  const before = (await inbox(kit)).filter((n) => n.kind === 'break_glass.used').length
  for (const replica of kit.replicas) assert.equal((await trySignIn(kit, 'safe', {}, { replica })).status, 200)
  const [marked] = await eventsOf(kit, 'login.succeeded')
  assert.deepEqual([marked?.user_id, marked?.break_glass, marked?.auth_method], [safe, true, 'password'])
  const told = (await inbox(kit)).filter((n) => n.kind === 'break_glass.used')
  assert.deepEqual([told.length - before, told[0]?.severity, told[0]?.subject.name], [2, 'critical', 'safe'])

  // A password with which the user could not sign in is refused.
  for (const body of [{ generate: true }, { new_password: 'seven crabs walk sideways' }])
    await assert.rejects(
      kit.admin.changePassword({ body: { user_id: ana, ...body } }),
      refused(422, /ana cannot sign in with a password/),
    )

  // The last usable break-glass user can't be stopped in any way; a viewer does not count as one.
  const last = refused(422, /safe is the last break-glass user with an administrator role/)
  const own = await kit.as('tenant_admin')
  const target = { type: 'user', id: safe } as const
  const ways: (() => Promise<unknown>)[] = [
    () => own.suspendUser({ body: { user_id: safe } }),
    () => own.changeUser({ body: { operation: 'suspend', user_id: safe } }),
    () => own.changeUser({ body: { operation: 'delete', user_id: safe } }),
    () => own.revokeRole({ body: { user_id: safe, role: 'tenant_admin' } }),
    () => own.createLock({ body: { target, reason: 'tried' } }),
    () => own.runPlaybook({ body: { playbook: 'compromised_user', params: { user_id: safe }, dry_run: true } }),
    // These do not stop the user, so the rule applies to the platform too.
    () => kit.admin.changePassword({ body: { user_id: safe, generate: true } }),
    () => mark(kit, safe, false),
  ]
  for (const way of ways) await assert.rejects(way(), last)
  const lastWay = refused(422, /Login is the last identity provider for sign-in/)
  await assert.rejects(set({ enabled: false }), lastWay)
  await assert.rejects(set({ sign_in: false }), lastWay)
  await assert.rejects(kit.admin.deleteIdentityProvider({ params }), lastWay)
  await set({ name: 'Login of the house' })

  // With a second break-glass user, the first may go. A user without the mark is signed out at once.
  await mark(kit, ana)
  const locked = await lock(kit, ana)
  await assert.rejects(mark(kit, safe, false), last, 'a locked user does not count')
  await kit.admin.releaseLock({ params: { lock_id: locked.lock.lock_id }, body: {} })
  assert.equal((await trySignIn(kit, 'ana')).status, 200)
  await mark(kit, safe, false)
  for (const replica of kit.replicas) await untilStatus(() => ofSafe.get('/v1/admin/me', replica), 401)
  await kit.admin.suspendUser({ body: { user_id: safe } })
  await assert.rejects(own.suspendUser({ body: { user_id: ana } }), refused(422, /ana is the last/))
  const stopped = await lock(kit, ana)
  const codes = ['tenant_without_break_glass_user']
  assert.deepEqual(
    stopped.warnings.map((w) => w.code),
    codes,
    'the platform stops anybody and is warned; admin still administers the tenant',
  )
  await kit.admin.releaseLock({ params: { lock_id: stopped.lock.lock_id }, body: {} })

  // An account from another source is never break-glass.
  await assert.rejects(mark(kit, anna?.user_id ?? ''), refused(422, /comes from a directory/))
  const service = { operation: 'create', user: { username: 'robot', kind: 'service' } } as const
  const { user: robot } = await kit.admin.changeUser({ body: service })
  await assert.rejects(mark(kit, robot.user_id), refused(422, /service account/))

  await enforce(kit, false)
  assert.equal((await trySignIn(kit, 'viewer')).status, 200, 'passwords open again')
  await mark(kit, ana, false)
  await kit.admin.deleteIdentityProvider({ params })
})

test('break-glass users and password sign-in need the permission to set them', async (t) => {
  const kit = await startKit(t)
  const tina = await makeUser(kit, 'tina', ['tenant_admin'])
  const body = { user_id: tina, break_glass: true }
  for (const role of ['security_admin', 'helpdesk', 'operator', 'auditor', 'viewer'] as const)
    await assert.rejects((await kit.as(role)).setBreakGlass({ body }), refused(403, /rbac:write/))
  const [admin] = (await kit.admin.listUsers({ query: { q: 'admin' } })).items
  const tenantAdmin = await kit.as('tenant_admin')
  await assert.rejects(
    tenantAdmin.setBreakGlass({ body: { ...body, user_id: admin?.user_id ?? '' } }),
    refused(403, /the role platform_admin/),
  )
  const elsewhere = await kit.as('tenant_admin', await kit.newTenant())
  await assert.rejects(elsewhere.setBreakGlass({ body }), refused(404, /no such user/))
  const done = await tenantAdmin.setBreakGlass({ body: { ...body, reason: 'in the safe' } })
  assert.deepEqual([done.changed, done.user.break_glass], [true, true])
  assert.equal((await tenantAdmin.setBreakGlass({ body })).changed, false)
  const events = (await eventsOf(kit, 'user.break_glass_changed')).filter((e) => e.outcome === 'success')
  assert.deepEqual(
    events.map((e) => [e.user_id, e.break_glass, e.details]),
    [[tina, true, { reason: 'in the safe' }]],
  )
})

test('of twenty concurrent removals on two replicas, the last fallback stays', async (t) => {
  const { kit, params, provider } = await startFederated(t, { people, replicas: 2 })
  // The platform may stop the last one.
  const key = await kit.keyFor('tenant_admin')
  const admins = kit.replicas.map((replica) => kit.clientFor(key, replica))
  const by = (i: number) => admins[i % 2]!
  const names = ['one', 'two', 'three']
  const ids = await Promise.all(names.map((name) => makeUser(kit, name, ['tenant_admin'])))
  for (const id of ids) await mark(kit, id)

  // SSO is enforced while the break-glass users lose their marks: either it stays off, or one of them is left.
  const statusOf = (work: Promise<unknown>) =>
    work.then(
      () => 200,
      (e: { status?: number }) => e.status,
    )
  const turning = statusOf(changeSecuritySettings(by(1), { login: { enforce_sso: true } }))
  const taking = times(20, (i) => {
    const user_id = ids[i % 3]!
    if (i % 4 === 0) return statusOf(by(i).setBreakGlass({ body: { user_id, break_glass: false } }))
    if (i % 4 === 1) return statusOf(by(i).suspendUser({ body: { user_id } }))
    if (i % 4 === 2) return statusOf(by(i).revokeRole({ body: { user_id, role: 'tenant_admin' } }))
    return statusOf(by(i).changePassword({ body: { user_id, generate: true } }))
  })
  const answers = [...(await taking), await turning]
  assert.ok(
    answers.every((status) => status === 200 || status === 422),
    answers.join(' '),
  )
  const left = (await holders(kit)).filter((u) => u.break_glass && u.status === 'active')
  const isOn = (await kit.admin.getSecuritySettings()).login.enforce_sso
  assert.ok(!isOn || left.length > 0, `on: ${isOn}, left: ${left.length}`)

  // SSO is enforced from the start: exactly one of the users who could sign in is left.
  const fresh = await Promise.all(['four', 'five'].map((name) => makeUser(kit, name, ['tenant_admin'])))
  for (const id of fresh) await mark(kit, id)
  for (const id of ids) await kit.admin.changeUser({ body: { operation: 'delete', user_id: id } })
  await enforce(kit)
  const outcomes = await times(20, (i) =>
    statusOf(
      i % 4 < 2
        ? by(i).suspendUser({ body: { user_id: fresh[i % 2]! } })
        : by(i).setBreakGlass({ body: { user_id: fresh[i % 2]!, break_glass: false } }),
    ),
  )
  assert.ok(outcomes.includes(422))
  const rest = (await holders(kit)).filter((u) => u.break_glass && u.status === 'active')
  assert.equal(rest.length, 1)
  assert.equal((await trySignIn(kit, rest[0]!.username)).status, 200)

  // The same for providers.
  const { client_id } = provider.oidc!
  const shown = await kit.admin.getIdentityProvider({ params })
  const other = await kit.admin.createIdentityProvider({
    body: { name: 'Other', kind: 'oidc', oidc: { issuer: shown.oidc!.issuer, client_id } },
  })
  const ended = await times(20, (i) => {
    const path = { params: { provider_id: i % 2 ? other.provider_id : params.provider_id } }
    return statusOf(by(i >> 1).deleteIdentityProvider(path))
  })
  assert.ok(ended.includes(422), ended.join(' '))
  assert.equal((await kit.admin.listIdentityProviders({ query: {} })).items.length, 1)
  await enforce(kit, false)
})

test('enforcement is checked at each sign-in, also before the replica is notified, and for open sessions', async (t) => {
  const kit = await startKit(t)
  const { tenant } = kit
  await makeUser(kit, 'ana', ['viewer'])
  const session = await signInAs(kit, 'ana')
  // The setting in the database, before this replica has been notified, and without an end of sessions.
  await kit.db.inTenant(tenant, (tx) =>
    sql`update tenant_settings set security = jsonb_set(security, '{login}', '{"enforce_sso": true}')
      where tenant_id = ${tenant}`.execute(tx),
  )
  assert.equal((await session.get('/v1/admin/me')).status, 200)
  assert.equal((await trySignIn(kit, 'ana')).status, 401)
  assert.equal((await eventsOf(kit, 'login.failed'))[0]?.failure_reason, 'sso_enforced')
  await kit.db.inTenant(tenant, (tx) => kit.app.changes.record(tx, tenant, [{ kind: 'settings', subject: everything }]))
  assert.equal((await session.get('/v1/admin/me')).status, 401)
})

test('the operator can recover access when nobody else can sign in', async (t) => {
  const { kit } = await startFederated(t, { people, replicas: 2 })
  const safe = await makeUser(kit, 'safe', ['tenant_admin'])
  await mark(kit, safe)
  await enforce(kit)
  const found = 'found again in a drawer'
  const recover = (breakGlassPassword: string, app = kit.app) =>
    bootstrap(app, { adminPassword, breakGlassPassword }, () => assert.fail('there is an administrator'))
  const come = (more = {}, replica = kit.replicas[1]!) => trySignIn(kit, 'break-glass', more, { replica })
  assert.equal((await come({ password: found })).status, 401)
  await assert.rejects(recover('short'), /HOLDFAST_BREAK_GLASS_PASSWORD must have at least 15 characters/)
  // Recovery by three replicas that start at once: one creates the account, and it is notified once.
  await times(3, (i) => recover(found, kit.replicas[i % 2]!.app))
  const person = await signInAs(kit, 'break-glass', { password: found })
  assert.deepEqual((await person.get('/v1/admin/me')).json.roles, ['platform_admin'])
  const events = async () => (await kit.admin.listAuditEvents({ query: { actor_id: 'break_glass', limit: 50 } })).items
  const made = (await events()).map((e) => e.kind).sort()
  assert.deepEqual(made, ['role.granted', 'user.break_glass_changed', 'user.changed', 'user.password_changed'])

  // Another recovery, as at every start, changes nothing.
  await recover(found)
  assert.equal((await events()).length, 4)
  assert.equal((await person.get('/v1/admin/me')).status, 200)

  // Suspended, locked, without role and mark, and with a lost second factor: another password recovers the account.
  const begun = await person.post('/v1/admin/users/totp/enroll', { current_password: found })
  const code = createAuthenticator(begun.json.secret).code()
  assert.equal((await person.post('/v1/admin/users/totp/verify', { code })).status, 200)
  const { user_id } = (await kit.admin.listUsers({ query: { q: 'break-glass' } })).items[0]!
  await kit.admin.suspendUser({ body: { user_id } })
  await mark(kit, user_id, false)
  await kit.admin.revokeRole({ body: { user_id, role: 'platform_admin' } })
  await lock(kit, user_id)
  await times(3, (i) => recover(`${found}!`, kit.replicas[i % 2]!.app))
  assert.equal((await come({ password: `${found}!` })).status, 200)
  const back = await kit.admin.getUser({ params: { user_id } })
  assert.deepEqual([back.status, back.break_glass, back.roles], ['active', true, ['platform_admin']])
  const told = (await inbox(kit)).filter((n) => /^The operator of the server/.test(n.title))
  assert.equal(told.length, 2)
  const written = JSON.stringify([await kit.admin.listAuditEvents({ query: { limit: 200 } }), kit.logs])
  assert.ok(!written.includes(found))
})
