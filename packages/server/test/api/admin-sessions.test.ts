import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { changeSecuritySettings } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { makeUser, signInAs, untilStatus } from '../support/actors/people.ts'
import { accountOf, refusedWith, signIn, statuses } from '../support/actors/sign-in.ts'
import { cookieOf, createBrowser } from '../support/clients/raw-http.ts'
import { createClock, type Replica, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

test('sessions of administrators on two replicas', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const expirations = () => eventsOf(kit, 'session.expired')
  /** Sets the limits and waits for both replicas. */
  const limit = async (sessions: { idle_seconds: number; absolute_seconds: number }) => {
    await changeSecuritySettings(kit.admin, { sessions })
    await kit.heard()
  }

  await t.test(
    'a session that one replica has seen is swept by no other, though its time was nearly over',
    async () => {
      await limit({ idle_seconds: 600, absolute_seconds: 3600 })
      const cookie = cookieOf(await signIn(kit.url))
      const [here, there] = kit.replicas.map((r) => createBrowser(r.url, kit.publicUrl, cookie))
      const sweepThere = () => runJob(kit.replicas[1]!.app, 'end_idle_sessions')
      assert.equal((await there!.get('/v1/admin/me')).status, 200)
      for (let i = 0; i < 2; i++) {
        clock.advance(580)
        assert.equal((await here!.get('/v1/admin/me')).status, 200)
        clock.advance(15)
        assert.equal(await sweepThere(), 0)
      }
      assert.equal((await there!.get('/v1/admin/me')).status, 200, 'nor does one that looks for itself end it')
      clock.advance(601)
      assert.equal((await there!.get('/v1/admin/me')).status, 401)
      assert.equal((await here!.get('/v1/admin/me')).status, 401)
    },
  )

  await t.test(
    'a session that is used all the time ends at its absolute limit, and an abandoned one is swept once',
    async () => {
      await limit({ idle_seconds: 60, absolute_seconds: 100 })
      const before = await expirations()
      const used = createBrowser(kit.url, kit.publicUrl, cookieOf(await signIn(kit.url)))
      await signIn(kit.url)
      clock.advance(45)
      assert.equal((await used.get('/v1/admin/me')).status, 200)
      const sweep = () => Promise.all(kit.replicas.map((r) => runJob(r.app, 'end_idle_sessions')))
      assert.deepEqual(await sweep(), [0, 0], 'and each has written when it saw whom')
      clock.advance(45)
      assert.equal((await used.get('/v1/admin/me')).status, 200)
      const swept = await sweep()
      assert.equal(
        swept.reduce((a, b) => a + b),
        1,
      )
      clock.advance(11)
      assert.equal((await used.get('/v1/admin/me')).status, 401)
      assert.equal((await expirations()).length - before.length, 2)
    },
  )

  await t.test('a lower limit binds sessions that run already', async () => {
    await limit({ idle_seconds: 60, absolute_seconds: 3600 })
    const browser = createBrowser(kit.url, kit.publicUrl, cookieOf(await signIn(kit.url)))
    assert.equal((await browser.get('/v1/admin/me')).status, 200)
    await limit({ idle_seconds: 30, absolute_seconds: 3600 })
    clock.advance(31)
    assert.equal((await browser.get('/v1/admin/me')).status, 401)
  })

  await t.test('who is signed in shows where, and ends a session from another one', async () => {
    await limit({ idle_seconds: 600, absolute_seconds: 3600 })
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

    assert.equal((await person.get(`${path}?user_id=${bob}`)).status, 403, 'addresses of others are not for a viewer')
    assert.equal((await other.get(`${path}?user_id=${ana}`)).status, 403)
    assert.equal((await kit.admin.listAdminSessions()).items.length, 3)
    await assert.rejects(kit.admin.listAdminSessions({ query: { user_id: 'usr_x' } }), refusedWith(400))
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
    const expired = (await expirations()).filter((e) => e.outcome === 'success' && e.reason === 'manual')
    assert.deepEqual(
      expired.map((e) => [e.session_id, e.user_id, e.reason, e.details]),
      [
        [bobs, bob, 'manual', undefined],
        [elsewhere.session_id, ana, 'manual', { reason: 'not me' }],
      ],
    )
  })

  await t.test('a suspended user is out on every replica at once', async () => {
    const user_id = await makeUser(kit, 'leaver', ['viewer'])
    const cookie = cookieOf(await signIn(kit.url, accountOf('leaver')))
    const browsers = kit.replicas.map((r) => createBrowser(r.url, kit.publicUrl, cookie))
    for (const b of browsers) assert.equal((await b.get('/v1/admin/me')).status, 200)
    await kit.admin.changeUser({ body: { operation: 'suspend', user_id } })
    assert.equal((await browsers[0]!.get('/v1/admin/me')).status, 401)
    await untilStatus(() => browsers[1]!.get('/v1/admin/me'), 401)
    await kit.admin.changeUser({ body: { operation: 'reactivate', user_id } })
    assert.equal((await browsers[0]!.get('/v1/admin/me')).status, 401)
    assert.equal((await signIn(kit.url, accountOf('leaver'))).status, 200)
  })

  await t.test('every limit of sign-in and session follows the settings on the other replica at once', async () => {
    const changes = () => eventsOf(kit, 'security_settings.updated')
    const before = await changes()
    const [here, there] = kit.replicas as [Replica, Replica]
    const other = kit.clientFor(kit.adminKey, there)
    const wanted = {
      login: {
        max_failures_per_ip: 7,
        window_seconds: 71,
        lockout_threshold: 3,
        lockout_seconds: 72,
        enforce_sso: false,
      },
      sessions: { idle_seconds: 73, absolute_seconds: 74 },
      passwords: { min_length: 16 },
      mfa: { required_roles: ['viewer' as const], step_up: true },
    }
    await makeUser(kit, 'eve', ['viewer'])
    assert.equal((await signIn(there.url, accountOf('eve'))).json.required_action, null)
    await changeSecuritySettings(kit.clientFor(kit.adminKey, here), wanted)
    await until(async () => {
      const { login, sessions, passwords, mfa } = await other.getSecuritySettings()
      return isDeepStrictEqual({ login, sessions, passwords, mfa }, wanted)
    })
    const signedIn = await signIn(there.url, accountOf('eve'))
    assert.equal(signedIn.json.required_action, 'enroll_mfa')
    const left = new Date(signedIn.json.expires_at).getTime() - clock.now().getTime()
    assert.ok(left > 60_000 && left <= 74_000, String(left))
    for (let i = 0; i < 3; i++) await signIn(there.url, { username: 'eve', password: 'wrong' })
    assert.equal((await eventsOf(kit, 'account.locked'))[0]?.attempt_count, 3)
    const [recorded] = await changes()
    assert.deepEqual(recorded?.changes?.['mfa.required_roles'], [[], ['viewer']])
    const again = await changeSecuritySettings(other, { mfa: { required_roles: ['viewer'] } })
    assert.deepEqual(again.mfa, wanted.mfa)
    assert.equal((await changes()).length - before.length, 1, 'the same list is no change')
  })

  await t.test('an idle session ends, use keeps it alive, and its end is recorded once', async () => {
    await limit({ idle_seconds: 60, absolute_seconds: 3600 })
    const cookie = cookieOf(await signIn(kit.url))
    const [here, there] = kit.replicas.map((r) => createBrowser(r.url, kit.publicUrl, cookie))
    const { session_id } = (await here!.get('/v1/admin/me')).json.session
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
      ...kit.replicas.map((r) => runJob(r.app, 'end_idle_sessions').then(() => ({ status: 401 }))),
    ])
    assert.deepEqual([...new Set(statuses(late))], [401])
    const own = (await expirations()).filter((e) => e.session_id === session_id)
    assert.deepEqual(
      own.map((e) => e.reason),
      ['timeout'],
    )
  })
})
