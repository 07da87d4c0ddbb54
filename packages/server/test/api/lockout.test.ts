import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import { eventsOf } from '../events.ts'
import { createClock, startKit, times } from '../kit.ts'
import { makeUser } from '../people.ts'
import { accountOf, count, refusedWith, right, signIn, statuses } from '../sign-in.ts'

test('parallel guesses on two replicas lock the account exactly once and learn nothing beyond the threshold', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await changeSecuritySettings(kit.admin, {
    login: { lockout_threshold: 5, lockout_seconds: 300, max_failures_per_ip: 1000 },
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

  assert.equal((await signIn(kit.url, accountOf('target'))).status, 401)
  clock.advance(301)
  assert.equal((await signIn(kit.url, accountOf('target'))).status, 200)
  const users = await kit.admin.listUsers({ query: { q: 'target' } })
  assert.equal(users.items[0]?.locked_until, null)
})

test('the attempt that reaches the threshold opens the account when it is right', async (t) => {
  const kit = await startKit(t)
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 3 } })
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 2; i++) await signIn(kit.url, { ...right, password: 'wrong' })
    assert.equal((await signIn(kit.url)).status, 200)
  }
  assert.equal((await eventsOf(kit, 'account.locked')).length, 0)
})

test('many right sign-ins at once never count against each other', async (t) => {
  const kit = await startKit(t)
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 2, max_failures_per_ip: 2 } })
  assert.deepEqual(statuses(await times(20, () => signIn(kit.url))), Array(20).fill(200))
})

test('a source with too many failures waits, on every replica, and only that source', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const login = { max_failures_per_ip: 5, window_seconds: 60, lockout_threshold: 1000 }
  await changeSecuritySettings(kit.admin, { login })
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

test('every lock is told to the administrators once, however many fail at once on two replicas', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await changeSecuritySettings(kit.admin, { login: { lockout_seconds: 60, max_failures_per_ip: 1000 } })
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
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 2 } })
  const user_id = await makeUser(kit, 'ana')
  const vic = await makeUser(kit, 'vic', ['viewer'])
  for (const name of ['ana', 'vic'])
    for (let i = 0; i < 2; i++) await signIn(kit.url, { username: name, password: 'wrong' })
  assert.equal((await signIn(kit.url, accountOf('ana'))).status, 401)
  assert.ok((await kit.admin.getUser({ params: { user_id } })).locked_until)
  const { items } = await kit.admin.listNotifications({ query: { kind: 'account.locked' } })
  assert.deepEqual(items.map((n) => n.subject.id).sort(), [user_id, vic].sort())

  const helpdesk = await kit.as('helpdesk')
  await assert.rejects(helpdesk.unlockUser({ body: { user_id: vic } }), refusedWith(403, /role viewer/))
  const opened = await times(8, () => helpdesk.unlockUser({ body: { user_id, reason: 'called in' } }))
  assert.equal(opened.filter((o) => o.changed).length, 1)
  assert.equal(opened[0]?.user.locked_until, null)
  assert.equal((await signIn(kit.replicas[1]!.url, accountOf('ana'))).status, 200)
  const unlock = { operation: 'unlock', user_id: vic } as const
  assert.equal((await kit.admin.changeUser({ body: unlock })).changed, true)
  assert.equal((await kit.admin.changeUser({ body: unlock })).changed, false)
  const unlocked = (await eventsOf(kit, 'user.changed')).filter((e) => e.operation === 'unlock')
  assert.deepEqual(unlocked.map((e) => e.user_id).sort(), [user_id, vic].sort())
})
