import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { changeNotificationSettings } from '@holdfast/sdk'
import { createClock, startKit } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { enableWebhook, inbox, notice, opened, raise, startReceiver } from '../support/domain/notifications.ts'

test('a webhook is signed as Standard Webhooks say, and sent again until it is taken', async (t) => {
  const clock = createClock()
  const receiver = await startReceiver(t, 500, 302, 204)
  const kit = await startKit(t, { now: clock.now, config: opened })
  const secret = await enableWebhook(kit, receiver.url)
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  await raise(kit)
  const delivery = async () => (await inbox(kit))[0]!.deliveries[0]!
  const sentAfter = async (seconds: number) => {
    clock.advance(seconds)
    await kit.app.notifications.deliver()
    return receiver.posted.length
  }
  assert.equal(await sentAfter(0), 1)
  const failed = await delivery()
  assert.deepEqual([failed.state, failed.attempts, failed.last_error], ['pending', 1, 'The receiver answered 500.'])
  assert.equal(await sentAfter(6), 2)
  assert.equal((await delivery()).last_error, 'The receiver answered 302.')
  assert.equal(await sentAfter(280), 2, 'the third waits for five minutes')
  assert.equal(await sentAfter(30), 3)
  const done = await delivery()
  assert.deepEqual([done.state, done.attempts, done.next_attempt_at, done.last_error], ['delivered', 3, null, null])
  assert.equal(await sentAfter(86_400), 3)

  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  for (const { headers, body } of receiver.posted) {
    const id = headers['webhook-id']
    const signed = `${id}.${headers['webhook-timestamp']}.${body}`
    assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
    assert.equal(id, receiver.posted[0]?.headers['webhook-id'])
    const { type, data } = JSON.parse(body)
    assert.deepEqual([type, data.title, data.notification_id], ['account.locked', 'The account of bob is locked', id])
  }
  const stamps = receiver.posted.map((p) => Number(p.headers['webhook-timestamp']))
  assert.ok(stamps[1]! - stamps[0]! >= 5 && stamps[2]! - stamps[1]! >= 300)
})

test('after ten attempts a delivery is given up, for everyone to see', async (t) => {
  const clock = createClock()
  const receiver = await startReceiver(t, 503)
  const kit = await startKit(t, { now: clock.now, config: opened })
  await enableWebhook(kit, receiver.url)
  await raise(kit)
  for (let i = 0; i < 12; i++) {
    await kit.app.notifications.deliver()
    clock.advance(24 * 3600)
  }
  const [delivery] = (await inbox(kit))[0]!.deliveries
  assert.equal(receiver.posted.length, 10)
  assert.deepEqual([delivery?.state, delivery?.attempts], ['failed', 10])
  assert.equal(delivery?.last_error, 'The receiver answered 503.')
})

test('a receiver that is gone turns its webhook off, and administrators are told', async (t) => {
  const receiver = await startReceiver(t, 410)
  const kit = await startKit(t, { config: opened })
  await enableWebhook(kit, receiver.url)
  await kit.db.inTenant(kit.tenant, async (tx) => {
    for (let i = 0; i < 6; i++) await kit.app.notifications.notify(tx, kit.tenant, notice({ title: `${i}` }))
  })
  await kit.app.notifications.deliver()
  assert.equal((await kit.admin.getNotificationSettings()).webhook.enabled, false)
  const all = await inbox(kit)
  const told = all.filter((n) => n.kind === 'webhook.disabled')
  assert.equal(told.length, 1)
  assert.deepEqual(told[0]?.deliveries, [])
  const rest = all.filter((n) => n.kind !== 'webhook.disabled').flatMap((n) => n.deliveries)
  assert.deepEqual(new Set(rest.map((d) => d.state)), new Set(['failed']))
  assert.equal(rest.length, 6)
  const sent = receiver.posted.length
  await raise(kit)
  await kit.app.notifications.deliver()
  assert.equal(receiver.posted.length, sent)
  const [event] = await eventsOf(kit, 'notification_settings.updated')
  assert.deepEqual([event?.actor.type, event?.changes], ['job', { 'webhook.enabled': [true, false] }])
})

test('the signing secret is shown when it is made and nowhere else', async (t) => {
  const receiver = await startReceiver(t, 200)
  const kit = await startKit(t, { config: opened })
  const first = await enableWebhook(kit, receiver.url)
  const untouched = await changeNotificationSettings(kit.admin, { webhook: { kinds: ['gateway.down'] } })
  assert.equal(untouched.secret, null)
  assert.equal(untouched.settings.webhook.origin, new URL(receiver.url).origin)
  const rotated = await changeNotificationSettings(kit.admin, { webhook: { rotate_secret: true, kinds: [] } })
  const second = rotated.secret!
  assert.notEqual(first, second)
  await raise(kit)
  await kit.app.notifications.deliver()
  const { headers, body } = receiver.posted[0]!
  const sign = (secret: string) =>
    `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
      .digest('base64')}`
  assert.equal(headers['webhook-signature'], sign(second))

  const settings = JSON.stringify(await kit.admin.getNotificationSettings())
  const events = JSON.stringify((await kit.admin.listAuditEvents({ query: { limit: 200 } })).items)
  const stored = await kit.db.inTenant(kit.tenant, (tx) =>
    tx.selectFrom('notification_settings').selectAll().where('tenant_id', '=', kit.tenant).execute(),
  )
  const places = [settings, events, JSON.stringify(stored), kit.logs.join(''), JSON.stringify(await inbox(kit))]
  for (const place of places)
    for (const secret of [first, second]) assert.ok(!place.includes(secret.slice(6)), place.slice(0, 100))
  assert.ok(!events.includes('path-that-is-a-secret'), 'the path of the URL is in an event')
  assert.ok(settings.includes('"secret_set":true'))
})
