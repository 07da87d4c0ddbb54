import { createHash } from 'node:crypto'
import type { Transporter } from 'nodemailer'
import { plainLines, shortLine } from './text.ts'

type Letter = {
  /** Together with the recipient, determines the Message-ID: a repeated mail has the same one. */
  id: string
  recipient: string
  subject: string
  text: string
  at: Date
}

const connectWithinMs = 10_000
const silentForMs = 20_000
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Sends plain-text mail over SMTP, one recipient each. `smtps://` uses TLS from the first byte. `smtp://` must upgrade
 * with STARTTLS before anything else, except on loopback. The envelope contains configured addresses only.
 */
export function createMailer(smtpUrl: string, publicUrl: string) {
  const url = new URL(smtpUrl)
  const secure = url.protocol === 'smtps:'
  const host = new URL(publicUrl).hostname
  const domain = /^[a-z0-9.-]*[a-z]$/i.test(host) ? host : 'localhost'
  const from = url.searchParams.get('from') ?? `holdfast@${domain}`
  const isLocal = loopback.test(url.hostname)
  let transport: Promise<Transporter> | undefined
  const options = {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || (secure ? 465 : 587)),
    secure,
    requireTLS: !secure && !isLocal,
    ignoreTLS: !secure && isLocal,
    name: domain,
    connectionTimeout: connectWithinMs,
    greetingTimeout: connectWithinMs,
    dnsTimeout: connectWithinMs,
    socketTimeout: silentForMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(url.username && {
      auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
    }),
  }
  /** The mail library is loaded with the first mail. */
  const open = () => {
    transport ??= import('nodemailer').then(({ createTransport }) => createTransport(options))
    return transport
  }

  return {
    /** Resolves when the server has accepted the mail. Throws an Error with one sentence. */
    send: async ({ id, recipient, subject, text, at }: Letter): Promise<void> => {
      const digest = createHash('sha256').update(`${id}\0${recipient}`).digest('hex').slice(0, 32)
      try {
        const opened = await open()
        await opened.sendMail({
          envelope: { from, to: [recipient] },
          from: { name: 'Holdfast', address: from },
          to: { name: '', address: recipient },
          subject: shortLine(subject, 200),
          text: plainLines(text, 10_000),
          date: at,
          messageId: `<${digest}@${domain}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
      } catch (e) {
        throw new Error(sentenceOf(e), { cause: e })
      }
    },
  }
}
export type Mailer = ReturnType<typeof createMailer>

/** Leaves out the server's reply text, which may repeat what was sent to it. */
function sentenceOf(e: unknown): string {
  const { responseCode, code } = e as { responseCode?: unknown; code?: unknown }
  if (typeof responseCode === 'number') return `The mail server refused the message (${responseCode}).`
  return `The mail server cannot be used${typeof code === 'string' ? ` (${code})` : ''}.`
}
