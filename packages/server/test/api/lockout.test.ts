import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import { makeUser } from '../support/actors/people.ts'
import { adminLogin, loginOf, signIn } from '../support/actors/sign-in.ts'
import { countOf, refused, statusesOf } from '../support/clients/answers.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

test('failed sign-ins are counted per account and per address, across replicas', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const urls = kit.replicas.map((r) => r.url)
  /** Changes the settings and waits for both replicas. */
  const set = async (login: NonNullable<Parameters<typeof changeSecuritySettings>[1]['login']>) => {
    await changeSecuritySettings(kit.admin, { login })
    await kit.heard()
  }
  const reasonsOf = async (username: string) =>
    (await eventsOf(kit, 'login.failed')).filter((e) => e.username === username).map((e) => e.failure_reason)
  const locksOf = async (username: string) =>
    (await eventsOf(kit, 'account.locked')).filter((e) => e.username === username)
  /** Notifications of locks that are not acknowledged. */
  const told = async () => (await kit.admin.listNotifications({ query: { kind: 'account.locked' } })).items

  await t.test(
    'concurrent guesses on two replicas lock the account exactly once and learn nothing after the threshold',
    async () => {
      await set({ lockout_threshold: 5, lockout_seconds: 300, max_failures_per_ip: 1000 })
      await makeUser(kit, 'target')
      const answers = await times(20, (i) => signIn(urls[i % 2]!, { username: 'target', password: `guess ${i}` }))
      assert.equal(countOf(statusesOf(answers), 401), 20)
      const reasons = await reasonsOf('target')
      assert.equal(countOf(reasons, 'wrong_password'), 5)
      assert.equal(countOf(reasons, 'locked'), 15)
      const locked = await locksOf('target')
      assert.equal(locked.length, 1)
      assert.equal(locked[0]?.attempt_count, 5)
      assert.equal(locked[0]?.source_ip, '127.0.0.1')

      assert.equal((await signIn(kit.url, loginOf('target'))).status, 401)
      clock.advance(301)
      assert.equal((await signIn(kit.url, loginOf('target'))).status, 200)
      const users = await kit.admin.listUsers({ query: { q: 'target' } })
      assert.equal(users.items[0]?.locked_until, null)
    },
  )

  await t.test('each lockout notifies the administrators once', async () => {
    await kit.admin.acknowledgeNotification({ params: { notification_id: (await told())[0]!.notification_id } })
    await set({ lockout_threshold: 10, lockout_seconds: 60 })
    const user_id = await makeUser(kit, 'other')
    for (let lock = 1; lock <= 2; lock++) {
      await times(20, (i) => signIn(urls[i % 2]!, { username: 'Other', password: `guess ${i}` }))
      const [{ notification_id, severity, title, detail, subject } = assert.fail(), ...more] = await told()
      assert.deepEqual(more, [])
      assert.deepEqual([severity, subject], ['warning', { type: 'user', id: user_id, name: 'other' }])
      assert.match(title, /other/)
      assert.match(detail, /10 sign-ins failed in a row.*127\.0\.0\.1/)
      const reasons = await reasonsOf('other')
      assert.equal(countOf(reasons, 'wrong_password'), 10 * lock, 'no more than the threshold was looked at')
      assert.equal(countOf(reasons, 'locked'), 10 * lock)
      assert.equal((await locksOf('other')).length, lock)
      await kit.admin.acknowledgeNotification({ params: { notification_id } })
      clock.advance(61)
    }
  })

  await t.test('a lockout is notified, and an administrator unlocks it: once, audited, on every replica', async () => {
    await set({ lockout_threshold: 2 })
    const user_id = await makeUser(kit, 'ana')
    const vic = await makeUser(kit, 'vic', ['viewer'])
    for (const name of ['ana', 'vic'])
      for (let i = 0; i < 2; i++) await signIn(kit.url, { username: name, password: 'wrong' })
    assert.equal((await signIn(kit.url, loginOf('ana'))).status, 401)
    assert.ok((await kit.admin.getUser({ params: { user_id } })).locked_until)
    assert.deepEqual((await told()).map((n) => n.subject.id).sort(), [user_id, vic].sort())

    const helpdesk = await kit.as('helpdesk')
    await assert.rejects(helpdesk.unlockUser({ body: { user_id: vic } }), refused(403, /role viewer/))
    const opened = await times(8, () => helpdesk.unlockUser({ body: { user_id, reason: 'called in' } }))
    assert.equal(opened.filter((o) => o.changed).length, 1)
    assert.equal(opened[0]?.user.locked_until, null)
    assert.equal((await signIn(urls[1]!, loginOf('ana'))).status, 200)
    const unlock = { operation: 'unlock', user_id: vic } as const
    assert.equal((await kit.admin.changeUser({ body: unlock })).changed, true)
    assert.equal((await kit.admin.changeUser({ body: unlock })).changed, false)
    const unlocked = (await eventsOf(kit, 'user.changed')).filter((e) => e.operation === 'unlock')
    assert.deepEqual(unlocked.map((e) => e.user_id).sort(), [user_id, vic].sort())
  })

  await t.test('an address with too many failures is throttled on every replica, and no other address', async () => {
    clock.advance(61)
    await set({ max_failures_per_ip: 5, window_seconds: 60, lockout_threshold: 1000 })
    const answers = await times(20, (i) => signIn(urls[i % 2]!, { username: `user-${i}`, password: 'x' }))
    assert.equal(countOf(statusesOf(answers), 401), 5)
    assert.equal(countOf(statusesOf(answers), 429), 15)
    const wait = Number(answers.find((a) => a.status === 429)?.headers['retry-after'])
    assert.ok(wait > 0 && wait <= 60, String(wait))
    assert.equal((await signIn(kit.url)).status, 429)
    assert.equal((await signIn(kit.url, adminLogin, { localAddress: '127.0.0.2' })).status, 200)
    clock.advance(61)
    assert.equal((await signIn(kit.url)).status, 200)
  })
})

test('the lockout threshold and the right password', async (t) => {
  const kit = await startKit(t)

  await t.test('concurrent correct sign-ins do not count against each other', async () => {
    await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 2, max_failures_per_ip: 2 } })
    assert.deepEqual(statusesOf(await times(20, () => signIn(kit.url))), Array(20).fill(200))
  })

  await t.test('a correct sign-in at the threshold opens the account', async () => {
    await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 3, max_failures_per_ip: 1000 } })
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 2; i++) await signIn(kit.url, { ...adminLogin, password: 'wrong' })
      assert.equal((await signIn(kit.url)).status, 200)
    }
    assert.equal((await eventsOf(kit, 'account.locked')).length, 0)
  })
})
