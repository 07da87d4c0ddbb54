import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls, type PeerCertificate } from 'node:tls'
import pg from 'pg'
import { second } from '../kernel/time.ts'

type Target = { host: string; port: number; user: string; database: string; hasRoot: boolean }

/** Parses the target of a URL as the driver does. */
function targetOf(url: string): Target {
  const { host, port, user = '', database = '' } = new pg.Client(url)
  return { host, port, user, database, hasRoot: /[?&]sslrootcert=/.test(url) }
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
/** Error codes of certificate verification (Node: X509 certificate error codes). */
const certificateCode = /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|CERT_|ERR_TLS_CERT_ALTNAME|HOSTNAME_MISMATCH|INVALID_)/

/** Explains an error from PostgreSQL and how to fix it, without any part of the password. */
export async function explainDatabaseError(e: unknown, url: string): Promise<string> {
  const { code = '', message } = e as NodeJS.ErrnoException
  const target = targetOf(url)
  const { host, port, user, database } = target
  const at = `${host}:${port}`
  const reasonText = message.replace(/\.$/, '')
  if (certificateCode.test(code)) return explainCertificate(code, reasonText, target)
  if (/does not support SSL/.test(message))
    return `PostgreSQL at ${at} does not support TLS: turn TLS on there (ssl = on), or remove sslmode from the URL.`
  if (/unsupported startup parameter/.test(message))
    return `a pooler at ${at} refused the connection (${reasonText}): ${poolerHelp}.`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the host name ${host} was not found.`
  if (code === 'ECONNREFUSED' || (code === 'ENOENT' && !message.includes('.pem')))
    return `nothing listens at ${at} (${code}).`
  if (code === '28P01') return `PostgreSQL at ${at} refused the password of user ${quoted(user)}.`
  if (code.startsWith('28')) return `PostgreSQL at ${at} refused user ${quoted(user)}: ${reasonText}.`
  if (code === '3D000')
    return `there is no database ${quoted(database)} at ${at}: run CREATE DATABASE ${quoted(database)} OWNER ${quoted(user)} there.`
  if (code === '42501') return `user ${quoted(user)} lacks a privilege: ${reasonText}.`
  return `${reasonText || code}.`
}

/** Hint for all errors caused by a pooler. */
export const poolerHelp =
  'Holdfast needs dedicated connections for LISTEN, advisory locks and session settings, so connect to PostgreSQL directly, or through a pooler with pool_mode = session and ignore_startup_parameters = options'

async function explainCertificate(code: string, message: string, target: Target): Promise<string> {
  // Node adds a hint about its own options, which do not apply to Holdfast.
  const [reasonText] = message.split('; if the root CA') as [string]
  const certificate = await certificateOf(target).catch(() => undefined)
  const at = `${target.host}:${target.port}`
  const shown = certificate
    ? `the certificate of PostgreSQL at ${at} (subject ${nameOf(certificate.subject)}, issuer ${nameOf(certificate.issuer)}, SHA-256 ${certificate.fingerprint256})`
    : `the certificate of PostgreSQL at ${at}`
  if (code === 'INVALID_PURPOSE')
    return `${shown} is not a server certificate (${reasonText}): issue one with extendedKeyUsage serverAuth.`
  if (code === 'CERT_HAS_EXPIRED') return `${shown} has expired: renew it on the PostgreSQL server.`
  if (/ALTNAME|HOSTNAME/.test(code)) return `${shown} is for another host name: ${reasonText}.`
  return target.hasRoot
    ? `${shown} is not issued by the authority in the file of sslrootcert (${reasonText}): put the certificate of its issuer into that file.`
    : `${shown} is issued by an authority that this machine does not trust (${reasonText}): put the certificate of that authority into a file, and add sslrootcert=/path/to/ca.pem to the URL.`
}

const nameOf = (name: PeerCertificate['subject'] | undefined) =>
  Object.entries(name ?? {})
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(', ')
    .replace(/\p{Cc}/gu, '?')
    .slice(0, 200)

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Reads the certificate of PostgreSQL, trusted or not. Nothing else is sent on this connection. */
function certificateOf({ host, port }: Target): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connectPlain({ host, port })
    const end = () => void socket.destroy()
    socket.setTimeout(3 * second, () => socket.destroy(new Error('no answer')))
    socket.on('error', reject)
    socket.once('connect', () => socket.write(sslRequest))
    socket.once('data', () => {
      const tls = connectTls({ socket, rejectUnauthorized: false })
      tls.on('error', reject)
      tls.once('secureConnect', () => {
        resolve(tls.getPeerCertificate())
        end()
      })
    })
  })
}
