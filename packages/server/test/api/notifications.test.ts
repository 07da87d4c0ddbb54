import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeNotificationSettings, changeSecuritySettings } from '@holdfast/sdk'
import { send } from '../support/clients/raw-http.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import {
  enableWebhook,
  inbox,
  notice,
  opened,
  raise,
  refusedWith,
  startReceiver,
} from '../support/domain/notifications.ts'

test('a notification exists if and only if the change that causes it does', async (t) => {
  const kit = await startKit(t)
  const undone = kit.db.inTenant(kit.tenant, async (tx) => {
    assert.ok(await kit.app.notifications.notify(tx, kit.tenant, notice({ title: 'never' })))
    throw new Error('undone')
  })
  await assert.rejects(undone, /undone/)
  await raise(kit)
  const [one, ...more] = await inbox(kit)
  assert.equal(more.length, 0)
  assert.equal(one?.title, 'The account of bob is locked')
  assert.deepEqual([one?.state, one?.acknowledged_at, one?.deliveries], ['open', null, []])
})

test('one cause has one open notification, however many see it', async (t) => {
  const kit = await startKit(t)
  const seen = await times(20, () => raise(kit, { dedupe_key: 'account.locked:bob' }))
  assert.equal(seen.filter((id) => id !== undefined).length, 1)
  const [one, ...more] = await inbox(kit)
  assert.equal(more.length, 0)
  await kit.admin.acknowledgeNotification({ params: { notification_id: one!.notification_id } })
  assert.ok(await raise(kit, { dedupe_key: 'account.locked:bob' }), 'after it was acknowledged it may happen again')
})

test('twenty acknowledgements at once are one, with one event', async (t) => {
  const kit = await startKit(t)
  await raise(kit)
  const [{ notification_id } = assert.fail()] = await inbox(kit)
  const answers = await times(20, () => kit.admin.acknowledgeNotification({ params: { notification_id } }))
  assert.equal(answers.filter((a) => a.changed).length, 1)
  assert.ok(answers.every((a) => a.notification.state === 'acknowledged'))
  assert.equal(answers[0]?.notification.acknowledged_by?.type, 'api_key')
  const events = await eventsOf(kit, 'notification.acknowledged')
  assert.deepEqual(
    events.map((e) => [e.notification_id, e.target?.name]),
    [[notification_id, 'The account of bob is locked']],
  )
  assert.deepEqual(await inbox(kit), [])
  assert.equal((await inbox(kit, { state: 'acknowledged' })).length, 1)
})

test('a locked account is in the inbox', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 2, lockout_seconds: 60 } })
  for (let i = 0; i < 6; i++) {
    await send(kit.url, { method: 'POST', path: '/admin/login', json: { username: 'admin', password: 'wrong' } })
    if (i % 2 === 1) clock.advance(61)
  }
  assert.ok((await eventsOf(kit, 'account.locked')).length >= 2)
  const [locked, ...more] = await inbox(kit)
  assert.deepEqual([locked?.kind, locked?.subject.name, more.length], ['account.locked', 'admin', 0])
})

test('the inbox is filtered and paged, and shows nothing of other tenants', async (t) => {
  const kit = await startKit(t)
  for (let i = 0; i < 5; i++) await raise(kit, { title: `warning ${i}` })
  await raise(kit, { title: 'urgent', severity: 'critical', kind: 'gateway.down' })
  const first = await kit.admin.listNotifications({ query: { limit: 4 } })
  const second = await kit.admin.listNotifications({ query: { limit: 4, cursor: first.next_cursor! } })
  const titles = [...first.items, ...second.items].map((n) => n.title)
  assert.deepEqual(titles, ['urgent', 'warning 4', 'warning 3', 'warning 2', 'warning 1', 'warning 0'])
  assert.equal((await kit.admin.listNotifications({ query: { severity: 'critical' } })).items.length, 1)
  assert.equal((await kit.admin.listNotifications({ query: { kind: 'account.locked' } })).items.length, 5)

  const stranger = await kit.as('tenant_admin', await kit.newTenant())
  assert.deepEqual((await stranger.listNotifications()).items, [])
  const { notification_id } = first.items[0]!
  await assert.rejects(stranger.acknowledgeNotification({ params: { notification_id } }), refusedWith(404, /no such/))
})

test('of two replicas only one sends', async (t) => {
  const receiver = await startReceiver(t, 200)
  const kit = await startKit(t, { replicas: 2, config: opened })
  await enableWebhook(kit, receiver.url)
  await times(10, (i) => raise(kit, { title: `${i}` }))
  await Promise.all(kit.replicas.map((r) => r.app.notifications.deliver()))
  const settled = async () => (await inbox(kit)).every((n) => n.deliveries.every((d) => d.state === 'delivered'))
  await until(settled, 'the end of every delivery')
  assert.deepEqual(new Set(receiver.posted.map((p) => p.headers['webhook-id'])).size, 10)
  assert.equal(receiver.posted.length, 10)
})

test('what was claimed by a replica that ended is sent by another', async (t) => {
  const clock = createClock()
  const receiver = await startReceiver(t, 200)
  const kit = await startKit(t, { replicas: 2, now: clock.now, config: opened })
  await enableWebhook(kit, receiver.url)
  await kit.db.inTenant(kit.tenant, async (tx) => {
    await kit.app.notifications.notify(tx, kit.tenant, notice())
    const claimed = { attempts: 1, next_attempt_at: new Date(clock.now().getTime() + 120_000) }
    await tx.updateTable('notification_deliveries').set(claimed).where('tenant_id', '=', kit.tenant).execute()
  })
  const other = kit.replicas[1]!.app.notifications
  await other.deliver()
  assert.equal(receiver.posted.length, 0)
  clock.advance(121)
  await other.deliver()
  assert.equal(receiver.posted.length, 1)
})

test('settings that can not work are refused with the field', async (t) => {
  const kit = await startKit(t)
  const put = (body: Parameters<typeof changeNotificationSettings>[1]) => changeNotificationSettings(kit.admin, body)
  await assert.rejects(
    put({ email: { enabled: true, recipients: ['a@example.com'] } }),
    refusedWith(422, /HOLDFAST_SMTP/),
  )
  await assert.rejects(put({ webhook: { enabled: true } }), refusedWith(422, /webhook\.url/))
  for (const url of ['http://hooks.example/', 'https://127.0.0.1/', 'https://[::1]:8443/', 'https://hooks.example:22/'])
    await assert.rejects(put({ webhook: { url } }), refusedWith(422, /webhook\.url/), url)
  for (const address of [
    'a@b\r\nRCPT TO:<c@d>',
    'a b@example.com',
    '<a@example.com>',
    'a@example.com,b@example.com',
    '"a"@b',
    'a',
  ])
    await assert.rejects(put({ email: { recipients: [address] } }), refusedWith(422, /recipients/), address)
  await assert.rejects(put({ email: { kinds: ['nonsense' as 'expiring'] } }), refusedWith(422, /kinds/))
  assert.deepEqual(await kit.admin.getNotificationSettings(), {
    email: { enabled: false, recipients: [], kinds: [], min_severity: 'info', available: false },
    webhook: { enabled: false, origin: null, kinds: [], secret_set: false },
  })
})
