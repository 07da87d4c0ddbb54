import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { AuditKind } from '@holdfast/contract/vocabulary'
import { ApiError, enrollDevice, openGateway } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { eventsOf } from '../events.ts'
import { adminPassword, createClock, type Kit, type Replica, startKit, times } from '../kit.ts'
import { signInAs, untilStatus } from '../people.ts'
import { cookieOf, createBrowser, type Sent, send } from '../raw-http.ts'

const right = { username: 'admin', password: adminPassword }
const signIn = (url: string, body: object = right, more: Partial<Sent> = {}) =>
  send(url, { method: 'POST', path: '/admin/login', json: body, ...more })
const statuses = (answers: { status: number }[]) => answers.map((a) => a.status)
const count = <T>(list: readonly T[], wanted: T) => list.filter((x) => x === wanted).length
const refusedWith = (status: number, about?: RegExp) => (e: unknown) =>
  e instanceof ApiError && e.status === status && (!about || about.test(e.message))
const makeUser = (
  kit: Kit,
  username: string,
  roles: Parameters<Kit['app']['identity']['createUser']>[1]['roles'] = [],
) =>
  kit.app.identity
    .createUser(kit.tenant, { username, password: `password of ${username}`, roles })
    .then((made) => encodeId('user', made.userId))
const passwordOf = (username: string) => ({ username, password: `password of ${username}` })

test('signing in gives a session that knows who it is, and signing out ends it', async (t) => {
  const kit = await startKit(t)
  const signedIn = await signIn(kit.url)
  assert.equal(signedIn.status, 200)
  assert.equal(signedIn.json.user.username, 'admin')
  const header = String(signedIn.headers['set-cookie'])
  for (const attribute of ['holdfast_session=', 'HttpOnly', 'Secure', 'SameSite=Strict', 'Path=/'])
    assert.ok(header.includes(attribute), attribute)

  const browser = createBrowser(kit.url, kit.publicUrl, cookieOf(signedIn))
  const me = await browser.get('/v1/admin/me')
  assert.equal(me.json.credential, 'session')
  assert.equal(me.json.user.user_id, signedIn.json.user.user_id)
  assert.deepEqual(me.json.roles, ['platform_admin'])
  assert.equal(me.json.session.expires_at, signedIn.json.expires_at)
  assert.equal(me.json.tenant_name, 'default')

  assert.deepEqual((await browser.post('/admin/logout')).json, { changed: true })
  assert.equal((await browser.get('/v1/admin/me')).status, 401)

  const [succeeded] = await eventsOf(kit, 'login.succeeded')
  assert.equal(succeeded?.user_id, signedIn.json.user.user_id)
  assert.equal(succeeded?.auth_method, 'password')
  assert.equal(succeeded?.source_ip, '127.0.0.1')
  const [started] = await eventsOf(kit, 'session.started')
  const [expired, ...more] = await eventsOf(kit, 'session.expired')
  assert.equal(expired?.reason, 'manual')
  assert.equal(expired?.session_id, started?.session_id)
  assert.equal(more.length, 0)
  assert.ok(!kit.logs.join('').includes(adminPassword))
})

test('the sign-in page works without a script and says one sentence when it fails', async (t) => {
  const { url, publicUrl } = await startKit(t)
  const page = await send(url, { path: '/admin/login?next=/admin/devices' })
  assert.equal(page.status, 200)
  assert.match(String(page.headers['content-type']), /^text\/html/)
  assert.match(page.text, /<input type="hidden" name="next" value="\/admin\/devices">/)
  assert.doesNotMatch(page.text, /<script|\son\w+=|\sstyle=/)
  const style = /<style>([\s\S]*)<\/style>/.exec(page.text)?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  assert.ok(String(page.headers['content-security-policy']).includes(`style-src 'sha256-${hash}'`))

  const sameOrigin = { 'sec-fetch-site': 'same-origin' }
  const submit = (form: Record<string, string>, headers: Record<string, string> = sameOrigin) =>
    send(url, { method: 'POST', path: '/admin/login', form, headers })
  const ok = await submit({ ...right, next: '/admin/devices?status=active' })
  assert.equal(ok.status, 303)
  assert.equal(ok.headers.location, '/admin/devices?status=active')
  assert.equal((await submit({ ...right, next: '//evil.example' })).headers.location, '/admin')

  const failed = await submit({ username: '"><b>x', password: 'wrong', next: '/admin/devices' })
  assert.equal(failed.status, 401)
  assert.match(failed.text, /role="alert"/)
  assert.match(failed.text, /value="&quot;&gt;&lt;b&gt;x"/)
  assert.match(failed.text, /name="next" value="\/admin\/devices"/)
  assert.equal(failed.headers['set-cookie'], undefined)
  assert.equal((await submit({ username: 'a\0b', password: 'wrong' })).status, 401)

  assert.equal((await submit(right, { 'sec-fetch-site': 'cross-site' })).status, 403)
  assert.equal((await submit(right, { origin: 'http://evil.example' })).status, 403)
  assert.equal((await submit(right, { origin: publicUrl })).status, 303)
  assert.equal((await submit(right, {})).status, 303)
})

test('a browser that has not signed in is led to the sign-in page; everything else under /admin is 401', async (t) => {
  const { url, publicUrl, adminKey } = await startKit(t)
  const away = await send(url, { path: '/admin' })
  assert.equal(away.status, 303)
  assert.equal(away.headers.location, '/admin/login')
  assert.equal((await send(url, { path: '/admin/anything' })).json.error, 'unauthorized')
  assert.equal((await send(url, { path: '/admin', headers: { authorization: `Bearer ${adminKey}` } })).status, 403)

  const browser = createBrowser(url, publicUrl, cookieOf(await signIn(url)))
  const home = await browser.get('/admin')
  assert.equal(home.status, 200)
  assert.match(home.text, /<dd>admin<\/dd>/)
  const out = await browser.post('/admin/logout', { form: {} })
  assert.equal(out.status, 303)
  assert.match(String(out.headers['set-cookie']), /Max-Age=0/)
  assert.equal((await browser.get('/admin')).status, 303)
})

test('whatever is wrong with a sign-in, the answer is the same', async (t) => {
  const kit = await startKit(t)
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_threshold: 2 } } })
  const suspended = await makeUser(kit, 'suspended')
  await kit.admin.changeUser({ body: { operation: 'suspend', user_id: suspended } })
  await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'bare' } } })
  await makeUser(kit, 'locked')
  for (let i = 0; i < 2; i++) await signIn(kit.url, { username: 'locked', password: 'wrong' })

  const tries = [
    { username: 'nobody', password: 'x' },
    { username: 'admin', password: 'wrong' },
    { username: 'nowhere/admin', password: adminPassword },
    { username: 'bare', password: 'x' },
    passwordOf('suspended'),
    passwordOf('locked'),
  ]
  const bodies = new Set<string>()
  for (const body of tries) {
    const { status, json, headers } = await signIn(kit.url, body)
    assert.equal(status, 401, body.username)
    assert.equal(headers['set-cookie'], undefined)
    bodies.add(JSON.stringify({ ...json, request_id: '' }))
  }
  assert.equal(bodies.size, 1)
  const reasons = (await eventsOf(kit, 'login.failed')).map((e) => `${e.username} ${e.failure_reason}`)
  for (const reason of [
    'nobody unknown_user',
    'admin wrong_password',
    'nowhere/admin unknown_tenant',
    'bare no_password',
    'suspended suspended',
    'locked locked',
  ])
    assert.ok(reasons.includes(reason), reason)
})

test('parallel guesses on two replicas lock the account exactly once and learn nothing beyond the threshold', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await kit.admin.updateSecuritySettings({
    body: { login: { lockout_threshold: 5, lockout_seconds: 300, max_failures_per_ip: 1000 } },
  })
  await makeUser(kit, 'target')
  const urls = kit.replicas.map((r) => r.url)
  const answers = await times(24, (i) => signIn(urls[i % 2]!, { username: 'target', password: `guess ${i}` }))
  assert.equal(count(statuses(answers), 401), 24)
  const reasons = (await eventsOf(kit, 'login.failed')).map((e) => e.failure_reason)
  assert.equal(count(reasons, 'wrong_password'), 5)
  assert.equal(count(reasons, 'locked'), 19)
  const locked = await eventsOf(kit, 'account.locked')
  assert.equal(locked.length, 1)
  assert.equal(locked[0]?.username, 'target')
  assert.equal(locked[0]?.attempt_count, 5)
  assert.equal(locked[0]?.source_ip, '127.0.0.1')

  assert.equal((await signIn(kit.url, passwordOf('target'))).status, 401)
  clock.advance(301)
  assert.equal((await signIn(kit.url, passwordOf('target'))).status, 200)
  const users = await kit.admin.listUsers({ query: { q: 'target' } })
  assert.equal(users.items[0]?.locked_until, null)
})

test('the attempt that reaches the threshold opens the account when it is right', async (t) => {
  const kit = await startKit(t)
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_threshold: 3 } } })
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 2; i++) await signIn(kit.url, { ...right, password: 'wrong' })
    assert.equal((await signIn(kit.url)).status, 200)
  }
  assert.equal((await eventsOf(kit, 'account.locked')).length, 0)
})

test('many right sign-ins at once never count against each other', async (t) => {
  const kit = await startKit(t)
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_threshold: 2, max_failures_per_ip: 2 } } })
  assert.deepEqual(statuses(await times(20, () => signIn(kit.url))), Array(20).fill(200))
})

test('a source with too many failures waits, on every replica, and only that source', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const login = { max_failures_per_ip: 5, window_seconds: 60, lockout_threshold: 1000 }
  await kit.admin.updateSecuritySettings({ body: { login } })
  const urls = kit.replicas.map((r) => r.url)
  const answers = await times(30, (i) => signIn(urls[i % 2]!, { username: `user-${i}`, password: 'x' }))
  assert.equal(count(statuses(answers), 401), 5)
  assert.equal(count(statuses(answers), 429), 25)
  const wait = Number(answers.find((a) => a.status === 429)?.headers['retry-after'])
  assert.ok(wait > 0 && wait <= 60, String(wait))
  assert.equal((await signIn(kit.url)).status, 429)
  assert.equal((await signIn(kit.url, right, { localAddress: '127.0.0.2' })).status, 200)
  clock.advance(61)
  assert.equal((await signIn(kit.url)).status, 200)
})

test('an idle session ends, use keeps it alive, and its end is recorded once', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await kit.admin.updateSecuritySettings({ body: { sessions: { idle_seconds: 60, absolute_seconds: 3600 } } })
  const cookie = cookieOf(await signIn(kit.url))
  const [here, there] = kit.replicas.map((r) => createBrowser(r.url, kit.publicUrl, cookie))
  for (let i = 0; i < 3; i++) {
    clock.advance(50)
    assert.equal((await here!.get('/v1/admin/me')).status, 200)
  }
  await kit.app.identity.stop()
  clock.advance(50)
  assert.equal((await there!.get('/v1/admin/me')).status, 200)
  clock.advance(61)
  const late = await Promise.all([
    ...(await times(6, (i) => (i % 2 ? here! : there!).get('/v1/admin/me'))),
    ...kit.replicas.map((r) => r.app.identity.sweepSessions().then(() => ({ status: 401 }))),
  ])
  assert.deepEqual([...new Set(statuses(late))], [401])
  const expired = await eventsOf(kit, 'session.expired')
  assert.deepEqual(
    expired.map((e) => e.reason),
    ['timeout'],
  )
})

test('a session that is used all the time ends at its absolute limit, and an abandoned one is swept once', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await kit.admin.updateSecuritySettings({ body: { sessions: { idle_seconds: 60, absolute_seconds: 100 } } })
  const used = createBrowser(kit.url, kit.publicUrl, cookieOf(await signIn(kit.url)))
  await signIn(kit.url)
  clock.advance(45)
  assert.equal((await used.get('/v1/admin/me')).status, 200)
  clock.advance(45)
  assert.equal((await used.get('/v1/admin/me')).status, 200)
  const swept = await Promise.all(kit.replicas.map((r) => r.app.identity.sweepSessions()))
  assert.equal(
    swept.reduce((a, b) => a + b),
    1,
  )
  clock.advance(11)
  assert.equal((await used.get('/v1/admin/me')).status, 401)
  assert.equal((await eventsOf(kit, 'session.expired')).length, 2)
})

test('a lower limit binds sessions that run already', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const browser = createBrowser(kit.url, kit.publicUrl, cookieOf(await signIn(kit.url)))
  assert.equal((await browser.get('/v1/admin/me')).status, 200)
  await kit.admin.updateSecuritySettings({ body: { sessions: { idle_seconds: 30 } } })
  clock.advance(31)
  assert.equal((await browser.get('/v1/admin/me')).status, 401)
})

test('a page of another site can not use the cookie', async (t) => {
  const kit = await startKit(t)
  const cookie = cookieOf(await signIn(kit.url))
  const attempt = (headers: Record<string, string>) => {
    const json = { operation: 'create', group: { name: `g${Math.random()}` } }
    return send(kit.url, { method: 'POST', path: '/v1/admin/groups/lifecycle', json, headers: { cookie, ...headers } })
  }
  assert.equal((await attempt({})).status, 403)
  assert.equal((await attempt({ origin: 'http://evil.example' })).status, 403)
  assert.equal((await attempt({ 'sec-fetch-site': 'same-site' })).status, 403)
  assert.equal((await attempt({ origin: kit.publicUrl })).status, 200)
  assert.equal((await attempt({ 'sec-fetch-site': 'same-origin' })).status, 200)
  assert.equal((await attempt({ origin: kit.publicUrl, authorization: `Bearer ${kit.adminKey}` })).status, 401)
})

test('a user lives through create, update, suspend, reactivate and delete, each once', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'Staff' } } })
  const made = await admin.changeUser({
    body: { operation: 'create', user: { username: 'ana', email: 'ana@example.org', group_ids: [group.group_id] } },
  })
  const { user_id } = made.user
  assert.deepEqual(made.user.group_ids, [group.group_id])
  assert.equal((await admin.getGroup({ params: { group_id: group.group_id } })).member_count, 1)

  const update = { operation: 'update', user_id, user: { display_name: 'Ana', group_ids: [] as string[] } } as const
  const updated = await admin.changeUser({ body: update })
  assert.deepEqual([updated.changed, updated.user.display_name, updated.user.group_ids], [true, 'Ana', []])
  assert.equal((await admin.changeUser({ body: update })).changed, false)

  for (const operation of ['suspend', 'reactivate', 'delete'] as const) {
    const all = await times(8, () => admin.changeUser({ body: { operation, user_id, reason: 'test' } }))
    assert.equal(
      count(
        all.map((a) => a.changed),
        true,
      ),
      1,
      operation,
    )
  }
  await assert.rejects(admin.getUser({ params: { user_id } }), refusedWith(404))
  await assert.rejects(admin.changeUser({ body: { operation: 'reactivate', user_id } }), refusedWith(404))
  const again = await admin.changeUser({ body: { operation: 'create', user: { username: 'ANA' } } })
  assert.notEqual(again.user.user_id, user_id)

  const recorded = (await eventsOf(kit, 'user.changed')).filter((e) => e.user_id === user_id)
  assert.deepEqual(recorded.map((e) => e.operation).sort(), ['create', 'delete', 'reactivate', 'suspend', 'update'])
  assert.deepEqual(recorded.find((e) => e.operation === 'update')?.changes, {
    display_name: ['', 'Ana'],
    group_ids: [[group.group_id], []],
  })
})

test('what is wrong with a user or a group is named', async (t) => {
  const { admin, newTenant, as } = await startKit(t)
  const other = await as('tenant_admin', await newTenant())
  const { user: foreign } = await other.changeUser({ body: { operation: 'create', user: { username: 'eve' } } })
  const { group: foreignGroup } = await other.changeGroup({ body: { operation: 'create', group: { name: 'theirs' } } })
  const { user } = await admin.changeUser({ body: { operation: 'create', user: { username: 'ana' } } })
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'Staff' } } })

  const users = (body: Parameters<typeof admin.changeUser>[0]['body']) => admin.changeUser({ body })
  const groups = (body: Parameters<typeof admin.changeGroup>[0]['body']) => admin.changeGroup({ body })
  await assert.rejects(users({ operation: 'create', user: { username: 'Ana' } }), refusedWith(422, /user\.username/))
  await assert.rejects(users({ operation: 'create', user: { username: 'a/b' } }), refusedWith(422, /user\.username/))
  await assert.rejects(users({ operation: 'create', user: {} }), refusedWith(422, /user\.username/))
  await assert.rejects(users({ operation: 'suspend' }), refusedWith(422, /user_id/))
  const named = { operation: 'update', user_id: user.user_id } as const
  await assert.rejects(users({ ...named, user: { username: 'admin' } }), refusedWith(422, /user\.username/))
  const ids = [group.group_id, foreignGroup.group_id]
  await assert.rejects(users({ ...named, user: { group_ids: ids } }), refusedWith(422, /user\.group_ids\[1\]/))

  const staff = { operation: 'update', group_id: group.group_id } as const
  const members = [user.user_id, foreign.user_id]
  await assert.rejects(
    groups({ ...staff, group: { add_members: members } }),
    refusedWith(422, /group\.add_members\[1\]/),
  )
  await assert.rejects(
    groups({ ...staff, group: { members: ['usr_nonsense'] } }),
    refusedWith(422, /group\.members\[0\]/),
  )
  await assert.rejects(groups({ operation: 'create', group: { name: 'STAFF' } }), refusedWith(422, /group\.name/))

  for (const id of [foreign.user_id, 'usr_nonsense', encodeId('user', '01890000-0000-7000-8000-000000000000')]) {
    await assert.rejects(admin.getUser({ params: { user_id: id } }), refusedWith(404))
    await assert.rejects(users({ operation: 'delete', user_id: id }), refusedWith(404))
  }
  await assert.rejects(admin.getGroup({ params: { group_id: foreignGroup.group_id } }), refusedWith(404))
  await assert.rejects(groups({ operation: 'delete', group_id: foreignGroup.group_id }), refusedWith(404))
})

test('of two last administrators who remove each other, one stays', async (t) => {
  const kit = await startKit(t)
  for (let round = 0; round < 5; round++) {
    const tenant = await kit.newTenant()
    const query = { tenant_id: encodeId('tenant', tenant) }
    const ids = await Promise.all(
      ['a', 'b'].map(async (username) => {
        const roles = ['security_admin', 'tenant_admin'] as const
        const { userId } = await kit.app.identity.createUser(tenant, { username, password: 'x', roles })
        return encodeId('user', userId)
      }),
    )
    const done = await Promise.allSettled(
      ids.map((user_id, i) => kit.admin.changeUser({ body: { operation: i ? 'delete' : 'suspend', user_id }, query })),
    )
    const failures = done.filter((d) => d.status === 'rejected')
    assert.equal(failures.length, 1)
    assert.match(String(failures[0]?.reason), /last active tenant_admin/)
  }
  const [root] = (await kit.admin.listUsers({ query: { q: 'admin' } })).items
  const lastOne = kit.admin.changeUser({ body: { operation: 'suspend', user_id: root!.user_id } })
  await assert.rejects(lastOne, refusedWith(422, /last active platform_admin/))
})

test('people of another tenant sign in with its name in front', async (t) => {
  const kit = await startKit(t)
  const tenant = await kit.newTenant('acme')
  const user = { username: 'admin', password: 'password of acme', roles: ['tenant_admin'] as const }
  await kit.app.identity.createUser(tenant, user)
  const signedIn = await signIn(kit.url, { username: 'acme/admin', password: 'password of acme' })
  assert.equal(signedIn.json.user.tenant_id, encodeId('tenant', tenant))
  assert.equal((await signIn(kit.url, { username: 'admin', password: 'password of acme' })).status, 401)
  const browser = createBrowser(kit.url, kit.publicUrl, cookieOf(signedIn))
  assert.deepEqual(
    (await browser.get('/v1/admin/users')).json.items.map((u: { username: string }) => u.username),
    ['admin'],
  )
  assert.equal((await browser.get(`/v1/admin/users?tenant_id=${encodeId('tenant', kit.tenant)}`)).status, 403)
  assert.equal((await eventsOf(kit, 'login.succeeded')).length, 0)
})

test('of many who take one name at once, one gets it', async (t) => {
  const { admin } = await startKit(t)
  const taken = await Promise.allSettled(
    Array.from({ length: 10 }, (_, i) =>
      admin.changeUser({ body: { operation: 'create', user: { username: i % 2 ? 'ana' : 'Ana' } } }),
    ),
  )
  assert.equal(taken.filter((x) => x.status === 'fulfilled').length, 1)
  for (const x of taken) if (x.status === 'rejected') assert.ok(refusedWith(422, /user\.username/)(x.reason))
})

test('a group that the published policy names stays until a policy without it is published', async (t) => {
  const { admin } = await startKit(t)
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'staff' } } })
  const { group_id } = group
  const policy = (from: object) => ({
    schema: 'holdfast.policy/1',
    resources: { web: { cidrs: ['10.0.0.0/24'] } },
    rules: [{ id: 'staff-to-web', action: 'allow', from, to: ['web'] }],
  })
  await admin.publishPolicy({ body: { channel: 'stable', policy: policy({ groups: ['staff'] }) } })
  const remove = () => admin.changeGroup({ body: { operation: 'delete', group_id } })
  await assert.rejects(remove(), refusedWith(422, /staff-to-web/))
  await admin.publishPolicy({ body: { channel: 'stable', policy: policy({ any: true }) } })
  assert.equal((await remove()).changed, true)
})

test('nobody touches a user who may do more', async (t) => {
  const kit = await startKit(t)
  await makeUser(kit, 'second', ['platform_admin'])
  const tenantAdmin = await kit.as('tenant_admin')
  const [second] = (await kit.admin.listUsers({ query: { q: 'second' } })).items
  const { user_id } = second!
  for (const operation of ['suspend', 'delete'] as const)
    await assert.rejects(tenantAdmin.changeUser({ body: { operation, user_id } }), refusedWith(403))
  const rename = { operation: 'update', user_id, user: { username: 'mine' } } as const
  await assert.rejects(tenantAdmin.changeUser({ body: rename }), refusedWith(403))
  const refused = (await eventsOf(kit, 'request.refused')).filter((e) => e.operation === 'changeUser')
  assert.equal(refused.length, 3)
})

test('a suspended user is out on every replica at once', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const user_id = await makeUser(kit, 'leaver', ['viewer'])
  const cookie = cookieOf(await signIn(kit.url, passwordOf('leaver')))
  const browsers = kit.replicas.map((r) => createBrowser(r.url, kit.publicUrl, cookie))
  for (const b of browsers) assert.equal((await b.get('/v1/admin/me')).status, 200)
  await kit.admin.changeUser({ body: { operation: 'suspend', user_id } })
  assert.equal((await browsers[0]!.get('/v1/admin/me')).status, 401)
  const deadline = Date.now() + 1000
  while ((await browsers[1]!.get('/v1/admin/me')).status !== 401) assert.ok(Date.now() < deadline)
  await kit.admin.changeUser({ body: { operation: 'reactivate', user_id } })
  assert.equal((await browsers[0]!.get('/v1/admin/me')).status, 401)
  assert.equal((await signIn(kit.url, passwordOf('leaver'))).status, 200)
})

test('the members of a group move by list and by difference, and each who moved is told', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const ids = await Promise.all(
    ['a', 'b', 'c'].map(async (n) => {
      const { user } = await admin.changeUser({ body: { operation: 'create', user: { username: n } } })
      return user.user_id
    }),
  )
  const [a, b, c] = ids as [string, string, string]
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'g', members: [a, b] } } })
  assert.equal(group.member_count, 2)
  const { group_id } = group
  const told: string[] = []
  kit.app.changes.listen('waiters', {
    changed: (_tenant, list) =>
      told.push(...list.filter((x) => x.kind === 'user').map((x) => encodeId('user', x.subject))),
    forgotten: () => {},
  })
  const change = async (members: object) => {
    told.length = 0
    const done = await admin.changeGroup({ body: { operation: 'update', group_id, group: members } })
    return [done.changed, done.group.member_count, [...told].sort()]
  }
  assert.deepEqual(await change({ members: [b, c] }), [true, 2, [a, c].sort()])
  assert.deepEqual(await change({ members: [c, b] }), [false, 2, []])
  assert.deepEqual(await change({ add_members: [b], remove_members: [a] }), [false, 2, []])
  assert.deepEqual(await change({ add_members: [a], remove_members: [b] }), [true, 2, [a, b].sort()])
  const inGroup = await admin.listUsers({ query: { group_id } })
  assert.deepEqual(
    inGroup.items.map((u) => u.username),
    ['a', 'c'],
  )
  await assert.rejects(change({ members: [a], add_members: [b] }), refusedWith(422, /group\.members/))
  await assert.rejects(change({ add_members: [a], remove_members: [a] }), refusedWith(422, /remove_members\[0\]/))

  const parallel = await times(10, (i) =>
    admin.changeGroup({
      body: { operation: 'update', group_id, group: i % 2 ? { add_members: [b] } : { remove_members: [b] } },
    }),
  )
  assert.equal(parallel.length, 10)
  const gone = await admin.changeGroup({ body: { operation: 'delete', group_id } })
  assert.equal(gone.changed, true)
  assert.deepEqual((await admin.listUsers({ query: { group_id } })).items, [])
})

test('lists page in order, filter, and keep tenants apart', async (t) => {
  const { admin, as, newTenant } = await startKit(t)
  const theirs = await newTenant()
  const other = await as('tenant_admin', theirs)
  await other.changeUser({ body: { operation: 'create', user: { username: 'u-foreign' } } })
  for (let i = 0; i < 7; i++) {
    const username = `u${i % 2 ? 'X' : 'x'}-${i}`
    // Shown in lower case: names that differ in nothing else are one.
    await admin.changeUser({ body: { operation: 'create', user: { username, email: `${i}@example.org` } } })
    await admin.changeGroup({ body: { operation: 'create', group: { name: `g%${i}` } } })
  }
  const walk = async (sort: 'username' | '-created_at') => {
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await admin.listUsers({ query: { limit: 3, sort, ...(cursor && { cursor }) } })
      seen.push(...page.items.map((u) => u.username))
      cursor = page.next_cursor ?? undefined
    } while (cursor)
    return seen
  }
  const expected = ['admin', ...Array.from({ length: 7 }, (_, i) => `ux-${i}`)]
  assert.deepEqual(await walk('username'), expected)
  assert.deepEqual(await walk('-created_at'), [...expected].reverse())
  assert.deepEqual(
    (await admin.listUsers({ query: { q: 'UX-3' } })).items.map((u) => u.username),
    ['ux-3'],
  )
  assert.equal((await admin.listUsers({ query: { q: '5@ex' } })).items.length, 1)
  assert.equal((await admin.listUsers({ query: { q: '%' } })).items.length, 0)
  assert.equal((await admin.listUsers({ query: { status: 'suspended' } })).items.length, 0)
  assert.equal((await admin.listGroups({ query: { q: 'g%' } })).items.length, 7)
  const { next_cursor } = await admin.listUsers({ query: { limit: 1 } })
  await assert.rejects(admin.listGroups({ query: { cursor: next_cursor! } }), refusedWith(400, /cursor/))
  assert.deepEqual(
    (await other.listUsers()).items.map((u) => u.username),
    ['u-foreign'],
  )

  const inside = { tenant_id: encodeId('tenant', theirs) }
  assert.deepEqual(
    (await admin.listUsers({ query: inside })).items.map((u) => u.username),
    ['u-foreign'],
  )
})

/** The identity module of a replica with a `notify` of the test's own. */
test('every lock is told to the administrators once, however many fail at once on two replicas', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_seconds: 60, max_failures_per_ip: 1000 } } })
  const user_id = await makeUser(kit, 'target')
  for (let lock = 1; lock <= 2; lock++) {
    await times(50, (i) => signIn(kit.replicas[i % 2]!.url, { username: 'Target', password: `guess ${i}` }))
    const told = (await kit.admin.listNotifications({ query: { kind: 'account.locked' } })).items
    assert.equal(told.length, 1)
    const [{ notification_id, severity, title, detail, subject } = assert.fail()] = told
    assert.deepEqual([severity, subject], ['warning', { type: 'user', id: user_id, name: 'target' }])
    assert.match(title, /target/)
    assert.match(detail, /10 failed attempts.*127\.0\.0\.1/)
    const reasons = (await eventsOf(kit, 'login.failed')).map((e) => e.failure_reason)
    assert.equal(count(reasons, 'wrong_password'), 10 * lock, 'no more than the threshold was looked at')
    assert.equal(count(reasons, 'locked'), 40 * lock)
    assert.equal((await eventsOf(kit, 'account.locked')).length, lock)
    await kit.admin.acknowledgeNotification({ params: { notification_id } })
    clock.advance(61)
  }
})

test('a lock reaches the notifications, and an administrator opens it: once, audited, on every replica', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_threshold: 2 } } })
  const user_id = await makeUser(kit, 'ana')
  const vic = await makeUser(kit, 'vic', ['viewer'])
  for (const name of ['ana', 'vic'])
    for (let i = 0; i < 2; i++) await signIn(kit.url, { username: name, password: 'wrong' })
  assert.equal((await signIn(kit.url, passwordOf('ana'))).status, 401)
  assert.ok((await kit.admin.getUser({ params: { user_id } })).locked_until)
  const { items } = await kit.admin.listNotifications({ query: { kind: 'account.locked' } })
  assert.deepEqual(items.map((n) => n.subject.id).sort(), [user_id, vic].sort())

  const helpdesk = await kit.as('helpdesk')
  await assert.rejects(helpdesk.unlockUser({ body: { user_id: vic } }), refusedWith(403, /role viewer/))
  const opened = await times(8, () => helpdesk.unlockUser({ body: { user_id, reason: 'called in' } }))
  assert.equal(opened.filter((o) => o.changed).length, 1)
  assert.equal(opened[0]?.user.locked_until, null)
  assert.equal((await signIn(kit.replicas[1]!.url, passwordOf('ana'))).status, 200)
  const unlock = { operation: 'unlock', user_id: vic } as const
  assert.equal((await kit.admin.changeUser({ body: unlock })).changed, true)
  assert.equal((await kit.admin.changeUser({ body: unlock })).changed, false)
  const unlocked = (await eventsOf(kit, 'user.changed')).filter((e) => e.operation === 'unlock')
  assert.deepEqual(unlocked.map((e) => e.user_id).sort(), [user_id, vic].sort())
})

test('a suspended user is stopped everywhere within a second, devices and connections too, and comes back whole', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin, publicUrl: baseUrl } = kit
  const user_id = await makeUser(kit, 'ana', ['viewer'])
  const pool = await admin.createGatewayPool({ body: { name: 'pool', region: { code: 'eu' } } })
  const { gateway: made, secret } = await admin.createGateway({
    params: { pool_id: pool.pool_id },
    body: { name: 'gw' },
  })
  const rules = [{ id: 'all', action: 'allow', from: { any: true }, to: ['10.0.0.0/8'], via: ['pool'] }]
  await admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })
  const { token } = await admin.generateToken({ body: { max_uses: 0, user_id } })
  const enroll = (name: string, on: Replica) =>
    enrollDevice({ baseUrl, token, dispatcher: on.dispatcher, device: { name, platform: 'linux' } })
  const [here, there] = kit.replicas as [Replica, Replica]
  const devices = [await enroll('laptop', here), await enroll('phone', there), await enroll('lost', there)]
  const [laptop, phone, lost] = devices.map((d) => d.id) as [string, string, string]
  await admin.changeDevice({ body: { operation: 'revoke', device_id: lost } })
  const names = { gatewayId: made.gateway_id, tenantId: encodeId('tenant', kit.tenant) }
  const gateways = kit.replicas.map((r) => openGateway({ baseUrl, secret, ...names, dispatcher: r.dispatcher }))
  for (const gateway of gateways) await gateway.pull()
  const peers = () => gateways.map((g) => [...(g.state?.peers.keys() ?? [])].sort())
  const both = [laptop, phone].sort()
  assert.deepEqual(peers(), [both, both])
  const sample = (device_id: string) => ({
    session_id: encodeId('vpn_session', crypto.randomUUID()),
    device_id,
    state: 'active' as const,
    rx_bytes: 1,
    tx_bytes: 1,
  })
  assert.equal((await gateways[0]!.meter([sample(laptop), sample(phone)])).accepted, 2)
  const person = await signInAs(kit, 'ana')

  const at = performance.now()
  const suspended = await admin.suspendUser({ body: { user_id, reason: 'left' } })
  assert.deepEqual([suspended.changed, suspended.sessions_terminated], [true, 3])
  for (const [i, replica] of kit.replicas.entries()) {
    await untilStatus(() => person.get('/v1/admin/me', replica), 401)
    await untilStatus(
      () =>
        devices[i]!.pollDigest().then(
          () => ({ status: 200 }),
          () => ({ status: 401 }),
        ),
      401,
    )
    while (peers()[i]!.length > 0) {
      await gateways[i]!.pull()
      assert.ok(performance.now() - at < 1000, 'a gateway still has a peer')
    }
    assert.equal((await signIn(replica.url, passwordOf('ana'))).status, 401)
  }
  assert.ok(performance.now() - at < 1500, `${performance.now() - at} ms`)
  assert.deepEqual((await admin.listSessions()).items, [])
  const late = await gateways[0]!.meter([sample(laptop)])
  assert.equal(late.accepted, 1)
  assert.deepEqual((await admin.listSessions()).items, [], 'what a gateway still reports is over at once')

  const back = await admin.reactivateUser({ body: { user_id } })
  assert.deepEqual([back.changed, back.user.status], [true, 'active'])
  assert.equal((await admin.reactivateUser({ body: { user_id } })).changed, false)
  for (const [i, replica] of kit.replicas.entries()) {
    await untilStatus(
      () =>
        devices[i]!.pollDigest().then(
          () => ({ status: 200 }),
          () => ({ status: 401 }),
        ),
      200,
    )
    const deadline = performance.now() + 1000
    while (peers()[i]!.length < 2) {
      await gateways[i]!.pull()
      assert.ok(performance.now() < deadline, 'a gateway has not got its peers back')
    }
    assert.equal((await signIn(replica.url, passwordOf('ana'))).status, 200)
  }
  assert.deepEqual(peers(), [both, both])
  assert.equal((await person.get('/v1/admin/me')).status, 401, 'the old session stays ended')
  await assert.rejects(devices[2]!.pollDigest(), 'what was revoked stays revoked')
})

test('who is signed in shows where, and ends a session from another one', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const ana = await makeUser(kit, 'ana', ['viewer'])
  const bob = await makeUser(kit, 'bob')
  const [person, phone, other] = [await signInAs(kit, 'ana'), await signInAs(kit, 'ana'), await signInAs(kit, 'bob')]
  const path = '/v1/admin/auth/sessions'
  const { items } = (await person.get(path)).json
  assert.equal(items.length, 2)
  const [current] = items.filter((s: { current: boolean }) => s.current)
  assert.equal(current.session_id, (await person.get('/v1/admin/me')).json.session.session_id)
  assert.deepEqual(
    [current.username, current.user_id, current.auth_method, current.source_ip],
    ['ana', ana, 'password', '127.0.0.1'],
  )
  const walked = []
  for (let cursor = ''; ; ) {
    const page = (await person.get(`${path}?limit=1${cursor && `&cursor=${cursor}`}`)).json
    walked.push(...page.items.map((s: { session_id: string }) => s.session_id))
    if (page.next_cursor === null) break
    cursor = page.next_cursor
  }
  assert.equal(new Set(walked).size, 2)

  assert.equal((await person.get(`${path}?user_id=${bob}`)).json.items.length, 1, 'a viewer reads users')
  assert.equal((await other.get(`${path}?user_id=${ana}`)).status, 403)
  assert.equal((await kit.admin.listAdminSessions()).items.length, 3)
  await assert.rejects(kit.admin.listAdminSessions({ query: { user_id: 'usr_x' } }), refusedWith(404))
  const foreign = await kit.as('tenant_admin', await kit.newTenant())
  assert.deepEqual((await foreign.listAdminSessions()).items, [])

  const end = (id: string) => `${path}/${id}/end`
  const bobs = (await other.get('/v1/admin/me')).json.session.session_id
  assert.equal((await person.post(end(bobs))).status, 403)
  const [elsewhere] = items.filter((s: { current: boolean }) => !s.current)
  const ended = await times(6, () => person.post(end(elsewhere.session_id), { reason: 'not me' }))
  assert.equal(ended.filter((e) => e.json.changed).length, 1)
  for (const replica of kit.replicas) await untilStatus(() => phone.get('/v1/admin/me', replica), 401)
  const helpdesk = await kit.as('helpdesk')
  await assert.rejects(
    helpdesk.endAdminSession({ params: { session_id: current.session_id } }),
    refusedWith(403, /viewer/),
  )
  assert.equal((await helpdesk.endAdminSession({ params: { session_id: bobs } })).changed, true)
  for (const session_id of [encodeId('admin_session', crypto.randomUUID()), 'ses_x', 'x'])
    await assert.rejects(kit.admin.endAdminSession({ params: { session_id } }), refusedWith(404))
  await assert.rejects(foreign.endAdminSession({ params: { session_id: bobs } }), refusedWith(404))
  const expired = (await eventsOf(kit, 'session.expired')).filter((e) => e.outcome === 'success')
  assert.deepEqual(
    expired.map((e) => [e.session_id, e.user_id, e.reason, e.details]),
    [
      [bobs, bob, 'manual', undefined],
      [elsewhere.session_id, ana, 'manual', { reason: 'not me' }],
    ],
  )
})

test('every event of the specification carries exactly its fields', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_threshold: 2 } } })
  const user_id = await makeUser(kit, 'ana')
  const headers = { 'user-agent': 'curl/8' }
  await signIn(kit.url, passwordOf('ana'), { headers })
  for (let i = 0; i < 2; i++) await signIn(kit.url, { username: 'ana', password: 'wrong' }, { headers })
  clock.advance(1801)
  await kit.app.identity.sweepSessions()
  const second = await kit.admin.unlockUser({ body: { user_id } })
  assert.equal(second.changed, false, 'the lock was over by time')

  const common = ['event_id', 'tenant_id', 'kind', 'timestamp', 'outcome', 'actor', 'target', 'source_ip']
  const all = [...common, 'user_agent', 'request_id', 'origin']
  const wanted: [AuditKind, Record<string, unknown>][] = [
    ['login.succeeded', { user_id, auth_method: 'password', source_ip: '127.0.0.1', user_agent: 'curl/8' }],
    [
      'login.failed',
      { username: 'ana', failure_reason: 'wrong_password', source_ip: '127.0.0.1', user_agent: 'curl/8' },
    ],
    ['account.locked', { username: 'ana', attempt_count: 2, source_ip: '127.0.0.1' }],
    ['session.started', { user_id, source_ip: '127.0.0.1', user_agent: 'curl/8' }],
    ['session.expired', { user_id, reason: 'timeout' }],
    ['api_key.used', { source_ip: '127.0.0.1' }],
  ]
  const own: Partial<Record<AuditKind, string[]>> = {
    'login.succeeded': ['user_id', 'auth_method'],
    'login.failed': ['username', 'failure_reason'],
    'account.locked': ['username', 'attempt_count'],
    'session.started': ['session_id', 'user_id'],
    'session.expired': ['session_id', 'user_id', 'reason'],
    'api_key.used': ['key_id', 'endpoint'],
  }
  for (const [kind, fields] of wanted) {
    const [event] = (await kit.admin.listAuditEvents({ query: { kind, limit: 1 } })).items
    assert.ok(event, kind)
    const { target, ...rest } = event
    assert.deepEqual(Object.keys({ target, ...rest }).sort(), [...all, ...own[kind]!].sort(), kind)
    for (const [name, value] of Object.entries(fields))
      assert.deepEqual((event as Record<string, unknown>)[name], value, `${kind} ${name}`)
    assert.match(event.timestamp, /^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/)
  }
})

test('every limit of sign-in and session follows the settings on the other replica within a second', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const [here, there] = kit.replicas as [Replica, Replica]
  const other = kit.clientFor(kit.adminKey, there)
  const wanted = {
    login: { max_failures_per_ip: 7, window_seconds: 71, lockout_threshold: 3, lockout_seconds: 72 },
    sessions: { idle_seconds: 73, absolute_seconds: 74 },
    passwords: { min_length: 16 },
    mfa: { required_roles: ['viewer' as const], step_up: true },
  }
  await makeUser(kit, 'ana', ['viewer'])
  assert.equal((await signIn(there.url, passwordOf('ana'))).json.required_action, null)
  await kit.clientFor(kit.adminKey, here).updateSecuritySettings({ body: wanted })
  const deadline = Date.now() + 1000
  for (;;) {
    const { login, sessions, passwords, mfa } = await other.getSecuritySettings()
    if (JSON.stringify({ login, sessions, passwords, mfa }) === JSON.stringify(wanted)) break
    assert.ok(Date.now() < deadline)
  }
  const signedIn = await signIn(there.url, passwordOf('ana'))
  assert.equal(signedIn.json.required_action, 'enroll_mfa')
  const left = new Date(signedIn.json.expires_at).getTime() - Date.now()
  assert.ok(left > 60_000 && left <= 74_000, String(left))
  for (let i = 0; i < 3; i++) await signIn(there.url, { username: 'ana', password: 'wrong' })
  assert.equal((await eventsOf(kit, 'account.locked'))[0]?.attempt_count, 3)
  const [recorded] = await eventsOf(kit, 'security_settings.updated')
  assert.deepEqual(recorded?.changes?.['mfa.required_roles'], [[], ['viewer']])
  const again = await other.updateSecuritySettings({ body: { mfa: { required_roles: ['viewer'] } } })
  assert.deepEqual(again.mfa, wanted.mfa)
  assert.equal((await eventsOf(kit, 'security_settings.updated')).length, 1, 'the same list is no change')
})
