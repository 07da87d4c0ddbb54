import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Contract, Input } from '@holdfast/contract'
import { ApiError } from '@holdfast/sdk'
import type { Notice } from '../../src/modules/notifications/index.ts'
import { createMailer } from '../../src/modules/notifications/mail.ts'
import { eventsOf } from '../events.ts'
import { createClock, type Kit, startKit, times } from '../kit.ts'
import { send } from '../raw-http.ts'
import { startSmtpListener } from '../smtp-listener.ts'
import { bearer, call, operation } from '../world.ts'

const notice = (more: Partial<Notice> = {}): Notice => ({
  kind: 'account.locked',
  severity: 'warning',
  title: 'The account of bob is locked',
  detail: 'Ten sign-ins in a row failed. It opens again by itself in 15 minutes.',
  subject: { type: 'user', id: 'usr_01jxz3c9dqf7vr2m8k4s6t0b5w', name: 'bob' },
  ...more,
})
const raise = (kit: Kit, more: Partial<Notice> = {}) =>
  kit.db.inTenant(kit.tenant, (tx) => kit.app.notifications.notify(tx, kit.tenant, notice(more)))
const inbox = async (kit: Kit, query: { state?: 'open' | 'acknowledged' | 'all' } = {}) =>
  (await kit.admin.listNotifications({ query })).items
const run = (kit: Kit, name: string) => kit.app.jobs.find((job) => job.name === name)!.run()
const refusedWith = (status: number, about: RegExp) => (e: unknown) =>
  e instanceof ApiError && e.status === status && about.test(e.message)

type Posted = { headers: IncomingHttpHeaders; body: string }
/** A receiver of webhooks that answers with these statuses, one after the other, and then with the last of them. */
async function startReceiver(t: TestContext, ...statuses: number[]) {
  const posted: Posted[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    posted.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
    const status = statuses.length > 1 ? statuses.shift()! : statuses[0]!
    response.writeHead(status, { location: 'http://127.0.0.1:1/elsewhere' }).end('x'.repeat(200_000))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/path-that-is-a-secret`, posted }
}
const opened = { allowedPrivateCidrs: ['127.0.0.0/8'] }
const enableWebhook = async (kit: Kit, url: string) => {
  const { webhook_secret } = await kit.admin.updateNotificationSettings({ body: { webhook: { enabled: true, url } } })
  return webhook_secret!
}

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
  await kit.admin.updateSecuritySettings({ body: { login: { lockout_threshold: 2, lockout_seconds: 60 } } })
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

test('mail goes to each recipient alone, and a name can not add to its headers', async (t) => {
  const smtp = await startSmtpListener(t)
  const kit = await startKit(t, { config: { smtpUrl: `smtp://127.0.0.1:${smtp.port}?from=vpn@control.example` } })
  const recipients = ['one@example.com', 'two@example.com']
  await kit.admin.updateNotificationSettings({
    body: { email: { enabled: true, recipients, min_severity: 'warning' } },
  })
  const name = 'bob\r\nBcc: victim@example.com\r\n\r\n<script>\u202e\0'.replace('\0', '\u0001')
  await raise(kit, {
    title: `The account of ${name} is locked`,
    detail: `Line one.\r\n.\r\nMAIL FROM:<x@y>\rnot a line`,
    subject: { type: 'user', id: 'usr_1', name },
  })
  await raise(kit, { severity: 'info', title: 'too unimportant for mail' })
  await kit.app.notifications.deliver()

  assert.deepEqual(smtp.letters.map((l) => l.to).sort(), [['one@example.com'], ['two@example.com']])
  for (const letter of smtp.letters) {
    assert.equal(letter.from, 'vpn@control.example')
    assert.equal(letter.headers.get('from'), 'Holdfast <vpn@control.example>')
    assert.equal(letter.headers.get('to'), letter.to[0])
    assert.equal(
      letter.headers.get('subject'),
      '[Holdfast warning] The account of bob Bcc: victim@example.com <script> is locked',
    )
    assert.equal(letter.headers.get('auto-submitted'), 'auto-generated')
    assert.match(letter.headers.get('content-type') ?? '', /^text\/plain/)
    assert.deepEqual(
      ['bcc', 'cc', 'reply-to'].filter((h) => letter.headers.has(h)),
      [],
    )
    assert.match(letter.text, /Line one\.\r\n\.\r\nMAIL FROM:<x@y>\r\nnot a line/)
    assert.match(letter.text, /Tenant: +default/)
  }
  assert.equal(smtp.commands.filter((c) => /victim|x@y/.test(c)).length, 0)
  assert.notEqual(smtp.letters[0]?.headers.get('message-id'), smtp.letters[1]?.headers.get('message-id'))
  const sent = (await inbox(kit)).flatMap((n) => n.deliveries.map((d) => [d.recipient, d.state, d.attempts]))
  assert.deepEqual(sent, [
    ['one@example.com', 'delivered', 1],
    ['two@example.com', 'delivered', 1],
  ])
})

test('a letter that was refused is sent again under the same Message-ID', async (t) => {
  const clock = createClock()
  let busy = true
  const smtp = await startSmtpListener(t, (to) => (busy && to === 'late@example.com' ? 451 : undefined))
  const kit = await startKit(t, { now: clock.now, config: { smtpUrl: `smtp://127.0.0.1:${smtp.port}` } })
  const recipients = ['late@example.com']
  await kit.admin.updateNotificationSettings({ body: { email: { enabled: true, recipients } } })
  await raise(kit)
  await kit.app.notifications.deliver()
  const [waiting] = (await inbox(kit))[0]!.deliveries
  assert.deepEqual([waiting?.state, waiting?.last_error], ['pending', 'The mail server refused the letter (451).'])
  busy = false
  clock.advance(6)
  await kit.app.notifications.deliver()
  assert.equal(smtp.letters.length, 1)
  const mailer = createMailer(`smtp://127.0.0.1:${smtp.port}`, kit.publicUrl)
  const [{ notification_id } = assert.fail()] = await inbox(kit)
  const again = { id: notification_id, recipient: 'late@example.com', subject: '', text: '', at: new Date() }
  await mailer.send(again)
  assert.equal(smtp.letters[1]?.headers.get('message-id'), smtp.letters[0]?.headers.get('message-id'))
})

test('no mail leaves in the clear but on loopback', async (t) => {
  const smtp = await startSmtpListener(t)
  const letter = { id: 'x', recipient: 'a@example.com', subject: 'x', text: 'x', at: new Date() }
  // The same listener under a name that is not known as loopback: it offers no STARTTLS.
  const mailer = createMailer(`smtp://user:hunter2@[::ffff:127.0.0.1]:${smtp.port}`, 'https://control.example')
  await assert.rejects(mailer.send(letter), /^Error: The mail server/)
  assert.deepEqual(
    smtp.commands.filter((c) => /^(AUTH|MAIL|RCPT|DATA)/i.test(c)),
    [],
  )
  const tls = createMailer(`smtps://127.0.0.1:${smtp.port}`, 'https://control.example')
  await assert.rejects(tls.send(letter), /^Error: The mail server/)
  assert.deepEqual(smtp.letters, [])
})

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

test('of two replicas only one sends', async (t) => {
  const receiver = await startReceiver(t, 200)
  const kit = await startKit(t, { replicas: 2, config: opened })
  await enableWebhook(kit, receiver.url)
  await times(10, (i) => raise(kit, { title: `${i}` }))
  await Promise.all(kit.replicas.map((r) => r.app.notifications.deliver()))
  const settled = async () => (await inbox(kit)).every((n) => n.deliveries.every((d) => d.state === 'delivered'))
  for (let i = 0; i < 100 && !(await settled()); i++) await new Promise((resolve) => setTimeout(resolve, 20))
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

test('the signing secret is shown when it is made and nowhere else', async (t) => {
  const receiver = await startReceiver(t, 200)
  const kit = await startKit(t, { config: opened })
  const first = await enableWebhook(kit, receiver.url)
  const untouched = await kit.admin.updateNotificationSettings({ body: { webhook: { kinds: ['gateway.down'] } } })
  assert.equal(untouched.webhook_secret, null)
  assert.equal(untouched.settings.webhook.origin, new URL(receiver.url).origin)
  const rotated = await kit.admin.updateNotificationSettings({ body: { webhook: { rotate_secret: true, kinds: [] } } })
  const second = rotated.webhook_secret!
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

test('settings that can not work are refused with the field', async (t) => {
  const kit = await startKit(t)
  const put = (body: NonNullable<Input<Contract['updateNotificationSettings']>['body']>) =>
    kit.admin.updateNotificationSettings({ body })
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

test('a test message says how each destination took it, and inner addresses stay closed', async (t) => {
  const receiver = await startReceiver(t, 200)
  const smtp = await startSmtpListener(t, (to) => (to === 'unknown@example.com' ? 550 : undefined))
  const kit = await startKit(t, { config: { smtpUrl: `smtp://127.0.0.1:${smtp.port}` } })
  assert.deepEqual(await kit.admin.testNotificationSettings(), { results: [] })
  const { port } = new URL(receiver.url)
  await kit.admin.updateNotificationSettings({
    body: {
      email: { recipients: ['known@example.com', 'unknown@example.com'] },
      // A name passes until it is looked up.
      webhook: { url: `https://localhost:${port}/` },
    },
  })
  const { results } = await kit.admin.testNotificationSettings()
  assert.deepEqual(results, [
    { channel: 'email', recipient: 'known@example.com', ok: true, error: null },
    {
      channel: 'email',
      recipient: 'unknown@example.com',
      ok: false,
      error: 'The mail server refused the letter (550).',
    },
    {
      channel: 'webhook',
      recipient: null,
      ok: false,
      error: 'The URL leads to an address that this deployment does not call.',
    },
  ])
  assert.deepEqual([smtp.letters.length, receiver.posted.length, (await inbox(kit)).length], [1, 0, 0])
  const [last] = await eventsOf(kit, 'notification_settings.tested')
  assert.deepEqual([last?.succeeded, last?.failed], [1, 2])
})

test('a silent gateway is reported once, and closed by the system when it is back', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const pool = await kit.admin.createGatewayPool({ body: { name: 'eu', region: { code: 'eu' } } })
  const make = (name: string) => kit.admin.createGateway({ params: { pool_id: pool.pool_id }, body: { name } })
  const [used, drained] = [await make('eu-1'), await make('eu-2')]
  await make('never-seen')
  const beat = async (secret: string) => {
    const answer = await call(kit, operation('heartbeat'), bearer(secret), { boot_id: 'b', active_sessions: 0 })
    assert.equal(answer.status, 200, answer.text)
  }
  await beat(used.secret)
  await beat(drained.secret)
  await kit.admin.drainGateway({ params: { gateway_id: drained.gateway.gateway_id }, body: { draining: true } })
  await run(kit, 'watch_gateways')
  assert.deepEqual(await inbox(kit), [])

  clock.advance(61)
  await Promise.all([run(kit, 'watch_gateways'), run(kit, 'watch_gateways')])
  const [down, ...more] = await inbox(kit)
  assert.equal(more.length, 0)
  assert.deepEqual(
    [down?.kind, down?.severity, down?.subject.id],
    ['gateway.down', 'critical', used.gateway.gateway_id],
  )

  await beat(used.secret)
  await Promise.all([run(kit, 'watch_gateways'), run(kit, 'watch_gateways')])
  assert.deepEqual(await inbox(kit), [])
  const [closed] = await inbox(kit, { state: 'acknowledged' })
  assert.deepEqual(closed?.acknowledged_by, { type: 'system', id: null, name: 'system' })
  assert.equal((await eventsOf(kit, 'notification.acknowledged')).length, 1)

  // The next silence is another cause; who acknowledges it is not told of it again.
  clock.advance(61)
  await run(kit, 'watch_gateways')
  const [again] = await inbox(kit)
  await kit.admin.acknowledgeNotification({ params: { notification_id: again!.notification_id } })
  clock.advance(600)
  await run(kit, 'watch_gateways')
  assert.deepEqual(await inbox(kit), [])
})

test('what expires is warned of once at each threshold', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const inDays = (days: number) => new Date(clock.now().getTime() + days * 86_400_000).toISOString()
  const create = (name: string, days: number) =>
    kit.admin.createApiKey({ body: { name, role: 'viewer', expires_at: inDays(days) } })
  const { api_key } = await create('long', 31)
  await create('short', 0.5)
  const gone = await create('revoked', 20)
  await kit.admin.revokeApiKey({ params: { key_id: gone.api_key.key_id }, body: {} })
  await run(kit, 'warn_of_expiry')
  assert.deepEqual(await inbox(kit), [])

  const steps: [days: number, severity: string][] = [
    [2, 'info'],
    [15, 'info'],
    [8, 'warning'],
    [5.5, 'critical'],
  ]
  for (const [days, severity] of steps) {
    clock.advance(days * 86_400)
    await run(kit, 'ensure_partitions')
    await Promise.all([run(kit, 'warn_of_expiry'), run(kit, 'warn_of_expiry')])
    const [warning, ...more] = await inbox(kit)
    assert.equal(more.length, 0, JSON.stringify(more))
    assert.deepEqual([warning?.kind, warning?.severity, warning?.subject.id], ['expiring', severity, api_key.key_id])
    await kit.admin.acknowledgeNotification({ params: { notification_id: warning!.notification_id } })
    await run(kit, 'warn_of_expiry')
    assert.deepEqual(await inbox(kit), [])
  }
  clock.advance(86_400)
  await run(kit, 'warn_of_expiry')
  assert.deepEqual(await inbox(kit), [])
})
