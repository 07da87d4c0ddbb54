import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeNotificationSettings } from '@holdfast/sdk'
import { createMailer } from '../../src/modules/notifications/mail.ts'
import { createClock, startKit } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { inbox, raiseNotice } from '../support/domain/notifications.ts'
import { startSmtpListener } from '../support/providers/smtp-listener.ts'
import { startReceiver } from '../support/providers/webhook-receiver.ts'

test('each recipient gets a mail alone, and a name cannot add headers', async (t) => {
  const smtp = await startSmtpListener(t)
  const kit = await startKit(t, { config: { smtpUrl: `smtp://127.0.0.1:${smtp.port}?from=vpn@control.example` } })
  const recipients = ['one@example.com', 'two@example.com']
  await changeNotificationSettings(kit.admin, { email: { enabled: true, recipients, min_severity: 'warning' } })
  const name = 'bob\r\nBcc: victim@example.com\r\n\r\n<script>\u202e\0'.replace('\0', '\u0001')
  await raiseNotice(kit, {
    title: `The account of ${name} is locked`,
    detail: `Line one.\r\n.\r\nMAIL FROM:<x@y>\rnot a line`,
    subject: { type: 'user', id: 'usr_1', name },
  })
  await raiseNotice(kit, { severity: 'info', title: 'too unimportant for mail' })
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

test('a refused mail is sent again under the same Message-ID', async (t) => {
  const clock = createClock()
  let busy = true
  const smtp = await startSmtpListener(t, (to) => (busy && to === 'late@example.com' ? 451 : undefined))
  const kit = await startKit(t, { now: clock.now, config: { smtpUrl: `smtp://127.0.0.1:${smtp.port}` } })
  const recipients = ['late@example.com']
  await changeNotificationSettings(kit.admin, { email: { enabled: true, recipients } })
  await raiseNotice(kit)
  await kit.app.notifications.deliver()
  const [waiting] = (await inbox(kit))[0]!.deliveries
  assert.deepEqual([waiting?.state, waiting?.last_error], ['pending', 'The mail server refused the message (451).'])
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

test('mail is sent unencrypted on loopback only', async (t) => {
  const smtp = await startSmtpListener(t)
  const letter = { id: 'x', recipient: 'a@example.com', subject: 'x', text: 'x', at: new Date() }
  // The same listener under a name that is not a known loopback name. It offers no STARTTLS.
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

test('a test message reports the result of each destination, and inner addresses stay closed', async (t) => {
  const receiver = await startReceiver(t, 200)
  const smtp = await startSmtpListener(t, (to) => (to === 'unknown@example.com' ? 550 : undefined))
  const kit = await startKit(t, { config: { smtpUrl: `smtp://127.0.0.1:${smtp.port}` } })
  assert.deepEqual(await kit.admin.testNotificationSettings(), { results: [] })
  const { port } = new URL(receiver.url)
  await changeNotificationSettings(kit.admin, {
    email: { recipients: ['known@example.com', 'unknown@example.com'] },
    // A name passes until it is looked up.
    webhook: { url: `https://localhost:${port}/` },
  })
  const { results } = await kit.admin.testNotificationSettings()
  assert.deepEqual(results, [
    { channel: 'email', recipient: 'known@example.com', ok: true, error: null },
    {
      channel: 'email',
      recipient: 'unknown@example.com',
      ok: false,
      error: 'The mail server refused the message (550).',
    },
    {
      channel: 'webhook',
      recipient: null,
      ok: false,
      error:
        'The URL leads to an address that this deployment does not allow. Its operator lists the allowed private networks in HOLDFAST_ALLOWED_PRIVATE_CIDRS.',
    },
  ])
  assert.deepEqual([smtp.letters.length, receiver.posted.length, (await inbox(kit)).length], [1, 0, 0])
  const [last] = await eventsOf(kit, 'notification_settings.tested')
  assert.deepEqual([last?.succeeded, last?.failed], [1, 2])
})
