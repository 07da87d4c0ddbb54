import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { makeUser, trySignIn } from '../support/actors/people.ts'
import { openBrowser } from '../support/clients/browser.ts'
import { type Got, send } from '../support/clients/raw-http.ts'
import { bootOf } from '../support/clients/strict-pages.ts'
import { adminPassword, times } from '../support/deployment/deployment.ts'
import { promptly } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { startHostileProvider } from '../support/providers/hostile-oidc-provider.ts'
import { clientSecret, startFederated, whoIs } from '../support/providers/oidc-sign-in.ts'

const groupsOfDora = ['/staff', '/admins']
const people = {
  anna: { name: 'anna', email: 'anna@example.com' },
  carla: { name: 'carla', email: 'carla@example.com' },
  dora: { name: 'Dora', email: 'DORA@Example.COM', groups: groupsOfDora },
  eve: { name: 'eve' },
  frank: { name: 'frank' },
  nameless: { name: 'no name' },
}

/** Waits until the session has ended on every replica. */
async function endsOn(t: TestContext, kit: Parameters<typeof whoIs>[0], cookie: string | undefined) {
  for (const giveUp = performance.now() + promptly; performance.now() < giveUp; await delay(20)) {
    const seen = await Promise.all(kit.replicas.map((replica) => whoIs(kit, cookie, replica)))
    if (seen.every((status) => status === 401)) return
  }
  t.assert.fail('the session goes on')
}

test('who signs in by a provider, in a deployment of two replicas', async (t) => {
  const { kit, real, provider, params, set, start, wayBack, signIn, reasons } = await startFederated(t, {
    people,
    replicas: 2,
  })

  await t.test('a person whose account is linked signs in, and the record says how', async () => {
    const user_id = await makeUser(kit, 'somebody', ['auditor'])
    const body = { provider_id: provider.provider_id, subject: 'anna' }
    assert.equal((await kit.admin.linkUserIdentity({ params: { user_id }, body })).changed, true)
    assert.equal((await kit.admin.linkUserIdentity({ params: { user_id }, body })).changed, false)

    const page = await openBrowser(kit).get('/admin/login?next=/admin/x')
    assert.match(
      page.text,
      /<a class="choice" href="\/admin\/login\/oidc\?provider=idp_\w+&amp;next=%2Fadmin%2Fx">Login</,
    )
    const { browser, answer } = await signIn('anna', '&next=%2Fadmin%3Fa%3D1')
    assert.deepEqual([answer.status, answer.headers.refresh], [200, '0; url=/admin?a=1'])
    assert.match(
      answer.headers['set-cookie']?.[0] ?? '',
      /^holdfast_session=hfs_\w+; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    )
    assert.match(answer.headers['set-cookie']?.[1] ?? '', /^holdfast_signin=; .*; Max-Age=0$/, 'the way is over')
    assert.equal(await whoIs(kit, browser.cookies.get('holdfast_session')), 'somebody')
    assert.equal(bootOf((await browser.get('/admin')).text).me.user?.username, 'somebody')

    const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'login.succeeded', limit: 1 } })).items
    assert.ok(event && 'auth_method' in event && 'user_id' in event)
    assert.deepEqual(
      [event.auth_method, event.user_id, event.details],
      ['oidc', user_id, { provider: { id: provider.provider_id, name: 'Login' } }],
    )
    const { items } = await kit.admin.listUserIdentities({ params: { user_id } })
    assert.equal(items.length, 1)
    assert.ok(items[0]?.last_login_at)
    assert.equal((await kit.admin.getIdentityProvider({ params })).linked_users, 1)
  })

  await t.test('a provider that makes users decides about what is mapped, and about nothing else', async () => {
    const make = async (name: string) =>
      (await kit.admin.changeGroup({ body: { operation: 'create', group: { name } } })).group.group_id
    const [staff, others] = [await make('staff'), await make('others')]
    await set({
      provisioning: 'create',
      group_mappings: [{ value: '/staff', group_id: staff }],
      role_mappings: [{ value: '/admins', role: 'tenant_admin' }],
    })
    const { browser } = await signIn('dora')
    assert.equal(await whoIs(kit, browser.cookies.get('holdfast_session')), 'dora')
    const [made] = (await kit.admin.listUsers({ query: { source: 'sso' } })).items
    assert.ok(made)
    assert.deepEqual(
      [made.username, made.email, made.roles, made.group_ids, made.password_set],
      ['dora', 'DORA@example.com', ['tenant_admin'], [staff], false],
    )
    const { user_id } = made
    await assert.rejects(kit.admin.changePassword({ body: { user_id, generate: true } }), { status: 422 })
    assert.equal((await trySignIn(kit, 'dora')).status, 401, 'no password opens it')
    await kit.admin.changeUser({ body: { operation: 'update', user_id, user: { group_ids: [staff, others] } } })
    await kit.admin.grantRole({ body: { user_id, role: 'viewer' } })

    // The last administrator of the tenant keeps the role; all else follows the provider.
    groupsOfDora.length = 0
    await signIn('dora')
    const kept = await kit.admin.getUser({ params: { user_id } })
    assert.deepEqual([kept.roles, kept.group_ids], [['tenant_admin', 'viewer'], [others]])
    await makeUser(kit, 'another', ['tenant_admin'])
    await signIn('dora')
    assert.deepEqual((await kit.admin.getUser({ params: { user_id } })).roles, ['viewer'])
    const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'role.revoked', limit: 1 } })).items
    assert.equal(event?.actor?.type, 'identity_provider')

    await signIn('nameless')
    assert.deepEqual(await reasons(1), ['oidc:username_refused'])
    await set({ group_mappings: [], role_mappings: [] })
  })

  await t.test('a name or a mail address links nobody, also where the provider makes users', async () => {
    await set({ provisioning: 'none' })
    const user_id = await makeUser(kit, 'carla', ['tenant_admin'])
    await kit.admin.changeUser({ body: { operation: 'update', user_id, user: { email: 'carla@example.com' } } })
    const refusedWith = async (reason: string) => {
      const { browser, answer } = await signIn('carla')
      assert.equal(answer.status, 401)
      assert.equal(browser.cookies.has('holdfast_session'), false)
      assert.deepEqual(await reasons(1), [`oidc:${reason}`])
      return answer.text
    }
    const text = await refusedWith('not_linked')
    await set({ provisioning: 'create' })
    assert.equal(await refusedWith('username_taken'), text, 'nobody is told which')
    const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit: 1 } })).items
    assert.equal(event && 'username' in event && event.username, 'carla', 'so that an administrator can link it')
  })

  // From here on the provider creates users.
  await t.test('what the provider refuses, and a code that was changed on its way, open nothing', async () => {
    for (const [login, change, reason] of [
      ['nobody', (path: string) => path, 'denied'],
      ['anna', (path: string) => path.replace(/code=[^&]+/, 'code=another'), 'code'],
      ['anna', (path: string) => path.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fevil.example'), 'issuer'],
    ] as const) {
      const { browser, path } = await wayBack(openBrowser(kit), login)
      assert.equal((await browser.get(change(path))).status, 401)
      assert.deepEqual(await reasons(1), [`oidc:${reason}`])
    }
  })

  await t.test('of twenty who bring the same answer, on two replicas, one is signed in', async () => {
    const { browser, path } = await wayBack(openBrowser(kit), 'frank')
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => browser.get(path, kit.replicas[i % 2])))
    assert.deepEqual(answers.map((a) => a.status).sort(), [200, ...Array.from({ length: 19 }, () => 401)])
    assert.equal((await kit.admin.listUsers({ query: { source: 'sso', q: 'frank' } })).items.length, 1)
  })

  await t.test('of twenty first sign-ins of one person, on two replicas, all make one user', async () => {
    const idp = await startHostileProvider(kit)
    const oidc = { issuer: idp.issuer, client_id: 'holdfast' }
    const made = await kit.admin.createIdentityProvider({
      body: { name: 'Other', kind: 'oidc', provisioning: 'create', claims: { username: 'sub' }, oidc },
    })
    const { pathname } = new URL(String(made.oidc?.redirect_uri))
    const ways = await times(20, async () => {
      const browser = openBrowser(kit)
      const sent = await browser.get(`/admin/login/oidc?provider=${made.provider_id}`)
      const brought = await idp.answerTo(String(sent.headers.location), (nonce) => idp.idToken({ nonce, sub: 'grace' }))
      return { browser, path: `${pathname}?${brought}` }
    })
    const answers = await Promise.all(ways.map(({ browser, path }, i) => browser.get(path, kit.replicas[i % 2])))
    assert.deepEqual([...new Set(answers.map((a) => a.status))], [200])
    assert.equal((await kit.admin.listUsers({ query: { source: 'sso', q: 'grace' } })).items.length, 1)
  })

  await t.test('no way in leads to another site, and one address begins so many', async () => {
    const { answer } = await signIn('anna', '&next=%2F%2Fevil.example')
    assert.equal(answer.headers.refresh, '0; url=/admin')
    assert.equal((await openBrowser(kit).get('/admin/login/oidc?tenant=%00')).status, 200)
    const paths = [start, '/admin/login/oidc?tenant=made-up']
    let wait: Got | undefined
    for (let round = 0; round < 20 && !wait; round++) {
      const many = await times(50, (i) => send(kit.url, { path: paths[i % 10 ? 1 : 0]!, localAddress: '127.0.0.2' }))
      wait = many.find((a) => a.status === 429)
    }
    assert.ok(wait, 'there is no limit')
    assert.ok(Number(wait.headers['retry-after']) > 0)
    const [told] = await eventsOf(kit, 'auth.throttled')
    assert.deepEqual([told?.credential, told?.source_ip, told?.refused], ['identity_provider', '127.0.0.2', 1])
  })

  await t.test('a provider that is gone opens no other door, and passwords go on for those who have one', async () => {
    await signIn('dora')
    const nowhere = { issuer: 'http://127.0.0.1:9', client_secret: null }
    await assert.rejects(set({ oidc: nowhere }), { status: 422 }, 'it is asked before it is saved')
    await set({ enabled: false, oidc: nowhere })
    const tested = await kit.admin.testIdentityProvider({ params })
    assert.deepEqual([tested.ok, tested.problem?.reason], [false, 'unreachable'])
    await kit.db.inTenant(kit.tenant, (tx) =>
      tx.updateTable('identity_providers').set({ enabled: true }).where('tenant_id', '=', kit.tenant).execute(),
    )
    assert.equal((await openBrowser(kit).get(start)).status, 401)
    assert.deepEqual(await reasons(1), ['oidc:unreachable'])
    assert.equal((await trySignIn(kit, 'dora')).status, 401)
    assert.equal((await trySignIn(kit, 'admin', { password: adminPassword })).status, 200)
    await set({ oidc: { issuer: real.issuer, client_secret: clientSecret } })
    assert.equal((await signIn('dora')).answer.status, 200, 'it is back')
  })

  await t.test(
    'sessions end on every replica with the provider, its use for sign-in, the link and the user',
    async (t) => {
      const cookieOf = async () => (await signIn('eve')).browser.cookies.get('holdfast_session')
      const first = await cookieOf()
      const [user] = (await kit.admin.listUsers({ query: { source: 'sso', q: 'eve' } })).items
      const user_id = user?.user_id ?? ''
      const local = (await trySignIn(kit, 'admin', { password: adminPassword })).status
      assert.equal(local, 200)

      await set({ sign_in: false })
      await endsOn(t, kit, first)
      await set({ sign_in: true })
      const second = await cookieOf()
      assert.equal(await whoIs(kit, second), 'eve')
      const account = { provider_id: params.provider_id, subject: 'eve' }
      await kit.admin.unlinkUserIdentity({ params: { user_id }, body: account })
      await endsOn(t, kit, second)
      assert.equal((await signIn('eve')).answer.status, 401)
      assert.deepEqual(await reasons(1), ['oidc:username_taken'], 'the user is there, and no longer theirs')
      await kit.admin.linkUserIdentity({ params: { user_id }, body: account })
      const third = await cookieOf()
      await kit.admin.suspendUser({ body: { user_id } })
      await endsOn(t, kit, third)
      assert.equal((await signIn('eve')).answer.status, 401)
      assert.deepEqual(await reasons(1), ['oidc:not_admitted'])
      await kit.admin.reactivateUser({ body: { user_id } })
      const fourth = await cookieOf()
      await kit.admin.changeUser({ body: { operation: 'delete', user_id } })
      await endsOn(t, kit, fourth)
      assert.equal((await signIn('eve')).answer.status, 401)
      assert.deepEqual(await reasons(1), ['oidc:not_admitted'], 'who was deleted does not come back by signing in')
      const other = await makeUser(kit, 'eve-again')
      assert.equal((await kit.admin.linkUserIdentity({ params: { user_id: other }, body: account })).changed, true)
      const fifth = await cookieOf()
      assert.equal(await whoIs(kit, fifth), 'eve-again')
      const target = { type: 'user', id: other } as const
      const { lock } = await kit.admin.createLock({ body: { target, reason: 'her phone is gone' } })
      assert.equal((await signIn('eve')).answer.status, 401)
      const [locked] = await eventsOf(kit, 'login.failed')
      assert.deepEqual(
        [locked?.failure_reason, locked?.username, locked?.details?.subject],
        ['oidc:not_admitted', 'eve-again', 'eve'],
        'with the name that she has here',
      )
      await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: {} })
      await kit.admin.deleteIdentityProvider({ params })
      await endsOn(t, kit, fifth)
      assert.deepEqual((await kit.admin.listUserIdentities({ params: { user_id: other } })).items, [])
    },
  )
})
