import { resolve } from 'node:path'
import { defaultOidArc, policyOid } from '@holdfast/crypto'
import { databaseUrl } from './database-url.ts'
import type { Env, Variable } from './env.ts'
import { settings } from './settings.ts'
import { cidrs, hostInUrl, listenHost, logLevel, readOrigin, wholeNumber } from './values.ts'
import { ConfigError, shown, shownUrl, wrongSetting } from './wrong-setting.ts'

export { hostInUrl } from './values.ts'
export { ConfigError } from './wrong-setting.ts'

/** Settings of the operator, without secrets (those are in `secrets.ts`). */
export type Config = {
  host: string
  port: number
  /** Origin of this deployment for clients, without trailing slash. Issuer of credentials, and base of proofs. */
  publicUrl: string
  /** True if HOLDFAST_PUBLIC_URL sets it. */
  publicUrlIsSet: boolean
  /** If HOLDFAST_PUBLIC_URL is not set: the other local names of the listener. */
  otherOrigins: readonly string[]
  /**
   * Port for revocation lists, OCSP and certificates of authorities in plain HTTP, and their origin in certificates.
   * Undefined: they are not served.
   */
  pki: { port: number; url: string } | undefined
  /** Address of Prometheus metrics. Undefined: they are not served. */
  metrics: { host: string; port: number } | undefined
  /** The operator's own OID arc, for the extensions of certificates. */
  oidArc: string
  dataDir: string
  /** Folder of the built web console. Undefined: `/admin` shows a plain page. */
  consoleDir: string | undefined
  docsDir: string | undefined
  /** Undefined: the embedded PostgreSQL in the data directory. */
  databaseUrl: string | undefined
  databaseConnections: number
  trustedProxies: readonly string[]
  /** Connections beyond this number are closed at once. */
  maxConnections: number
  /** Number of failed credentials per minute from one address (IPv6: /64), above which it must wait. */
  authFailuresPerMinute: number
  tls: { certFile: string; keyFile: string } | undefined
  /** Time in seconds that a stopping replica still serves, until load balancers remove it. */
  drainSeconds: number
  /** Upper limit in seconds of the wait that a request asks for (`Prefer: wait`). */
  longestWaitSeconds: number
  logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  masterKeyFile: string
  packages: PackagesConfig
  /** License of this deployment, and the public keys of license issuers. Undefined: the community license. */
  license: { file: string; keysFile: string | undefined } | undefined
  /** Mail server for notifications, as smtp:// or smtps:// with an optional `?from=`. Undefined: no mail is sent. */
  smtpUrl: string | undefined
  /**
   * Token for new signing keys: its PKCS#11 library, its label, the file with its PIN, and the environment that its
   * library may read. Undefined: keys are created in the database.
   */
  pkcs11: { library: string; token: string; pinFile: string; environment: Record<string, string> } | undefined
  /** Retention in days of ended or old data. The audit log is kept forever if `audit` is null. */
  keptDays: Record<'vpn_sessions' | 'telemetry' | 'metering' | 'revoked_devices', number> & { audit: number | null }
  /** Data that the deployment's gateways look up by themselves. A policy may use no other data of this kind. */
  gatewaysKnow: ReadonlySet<'countries' | 'services'>
  /** Private networks that tenants' URLs may lead into. */
  allowedPrivateCidrs: readonly string[]
}

/** Location of release packages, and their size limits in bytes. */
type PackagesConfig = {
  /** A folder; several replicas must share it. Uploads are received there, also if a bucket stores the packages. */
  dir: string
  /** URL of the bucket, path-style or virtual-hosted, and its region. Its credential is among the secrets. */
  bucket: { url: string; region: string } | undefined
  largest: number
  largestOfTenant: number
}

/** Reads the HOLDFAST_ variables. An error names the variable and its valid values. */
export function parseConfig(env: Env): Config {
  const host = listenHost(env, 'HOLDFAST_HOST')
  const port = wholeNumber(env, 'HOLDFAST_PORT')
  const dataDir = resolve(env.HOLDFAST_DATA_DIR || settings.HOLDFAST_DATA_DIR.default)
  const certFile = env.HOLDFAST_TLS_CERT_FILE
  const keyFile = env.HOLDFAST_TLS_KEY_FILE
  requireTogether(env, ['HOLDFAST_TLS_CERT_FILE', 'HOLDFAST_TLS_KEY_FILE'])
  const tls = certFile && keyFile ? { certFile, keyFile } : undefined
  return {
    host,
    port,
    ...addresses(env, { scheme: tls ? 'https' : 'http', host, port }),
    pki: pki(env, host),
    metrics: metrics(env),
    oidArc: oidArc(env),
    dataDir,
    consoleDir: env.HOLDFAST_CONSOLE_DIR ? resolve(env.HOLDFAST_CONSOLE_DIR) : undefined,
    docsDir: env.HOLDFAST_DOCS_DIR ? resolve(env.HOLDFAST_DOCS_DIR) : undefined,
    databaseUrl: databaseUrl(env),
    databaseConnections: wholeNumber(env, 'HOLDFAST_DATABASE_CONNECTIONS'),
    trustedProxies: cidrs(env, 'HOLDFAST_TRUSTED_PROXIES'),
    maxConnections: wholeNumber(env, 'HOLDFAST_MAX_CONNECTIONS'),
    authFailuresPerMinute: wholeNumber(env, 'HOLDFAST_AUTH_FAILURES_PER_MINUTE'),
    tls,
    drainSeconds: wholeNumber(env, 'HOLDFAST_DRAIN_SECONDS'),
    longestWaitSeconds: wholeNumber(env, 'HOLDFAST_LONGEST_WAIT_SECONDS'),
    logLevel: logLevel(env),
    masterKeyFile: resolve(env.HOLDFAST_MASTER_KEY_FILE || resolve(dataDir, 'master.key')),
    packages: packages(env, dataDir),
    license: env.HOLDFAST_LICENSE_FILE
      ? { file: env.HOLDFAST_LICENSE_FILE, keysFile: env.HOLDFAST_LICENSE_KEYS_FILE || undefined }
      : undefined,
    smtpUrl: smtpUrl(env),
    pkcs11: pkcs11(env),
    keptDays: {
      audit: env.HOLDFAST_KEEP_AUDIT_DAYS ? wholeNumber(env, 'HOLDFAST_KEEP_AUDIT_DAYS') : null,
      vpn_sessions: wholeNumber(env, 'HOLDFAST_KEEP_SESSIONS_DAYS'),
      telemetry: wholeNumber(env, 'HOLDFAST_KEEP_TELEMETRY_DAYS'),
      metering: wholeNumber(env, 'HOLDFAST_KEEP_METERING_DAYS'),
      revoked_devices: wholeNumber(env, 'HOLDFAST_KEEP_REVOKED_DEVICES_DAYS'),
    },
    gatewaysKnow: gatewaysKnow(env),
    allowedPrivateCidrs: cidrs(env, 'HOLDFAST_ALLOWED_PRIVATE_CIDRS'),
  }
}

/** Variables that are set either all or not at all. */
function requireTogether(env: Env, names: readonly Variable[]): void {
  const missing = names.filter((name) => !env[name])
  if (missing.length === 0 || missing.length === names.length) return
  const set = names.filter((name) => env[name])
  throw new ConfigError(
    `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} not set, and ${set.join(' and ')} ${set.length > 1 ? 'are' : 'is'}: set ${names.length > 2 ? 'all' : 'both'} or none of them.`,
  )
}

export const isEveryAddress = (host: string): boolean => /^(0\.0\.0\.0|\[?::\]?)$/.test(host)
const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host)

/** Without a public URL, the loopback names count as one address; other names must be configured. */
function addresses(
  env: Env,
  { scheme, host, port }: { scheme: string; host: string; port: number },
): Pick<Config, 'publicUrl' | 'publicUrlIsSet' | 'otherOrigins'> {
  const at = (name: string) => `${scheme}://${name}:${port}`
  const own = isEveryAddress(host) ? '127.0.0.1' : hostInUrl(host)
  const publicUrl = readOrigin(env, 'HOLDFAST_PUBLIC_URL', at(own))
  if (env.HOLDFAST_PUBLIC_URL) return { publicUrl, publicUrlIsSet: true, otherOrigins: [] }
  const loopback = ['localhost', '127.0.0.1', '[::1]', hostInUrl(host)].map(at)
  const others = isEveryAddress(host) || isLoopback(host) ? loopback : []
  return { publicUrl, publicUrlIsSet: false, otherOrigins: [...new Set(others)].filter((one) => one !== publicUrl) }
}

/**
 * Plain HTTP, also in certificates: a client that fetched revocation data over TLS would need that data for TLS (RFC
 * 5280 §8).
 */
function pki(env: Env, host: string): Config['pki'] {
  if (!env.HOLDFAST_PKI_PORT) {
    if (env.HOLDFAST_PKI_PUBLIC_URL)
      throw new ConfigError(
        'HOLDFAST_PKI_PUBLIC_URL is set without HOLDFAST_PKI_PORT: set the port too, or remove the URL.',
      )
    return undefined
  }
  const port = wholeNumber(env, 'HOLDFAST_PKI_PORT')
  const url = readOrigin(env, 'HOLDFAST_PKI_PUBLIC_URL', `http://${hostInUrl(host)}:${port}`, 'http://pki.example.com')
  if (!url.startsWith('http:'))
    throw wrongSetting(
      'HOLDFAST_PKI_PUBLIC_URL',
      `is ${shownUrl(url)}`,
      'an origin that begins with http:// (everything served there is signed)',
    )
  return { port, url }
}

/** Access from another machine requires a token. */
function metrics(env: Env): Config['metrics'] {
  if (!env.HOLDFAST_METRICS_PORT) {
    if (env.HOLDFAST_METRICS_HOST)
      throw new ConfigError(
        'HOLDFAST_METRICS_HOST is set without HOLDFAST_METRICS_PORT: set the port too, or remove the host.',
      )
    return undefined
  }
  const host = listenHost(env, 'HOLDFAST_METRICS_HOST')
  if (!env.HOLDFAST_METRICS_TOKEN && !/^(127(\.\d+){3}|::1|localhost)$/.test(host))
    throw new ConfigError(
      `HOLDFAST_METRICS_HOST is ${shown(host)}, so other machines can read the metrics: set HOLDFAST_METRICS_TOKEN, which they must then send.`,
    )
  return { host, port: wholeNumber(env, 'HOLDFAST_METRICS_PORT') }
}

function oidArc(env: Env): string {
  const arc = env.HOLDFAST_OID_ARC || settings.HOLDFAST_OID_ARC.default
  try {
    policyOid(arc)
    return arc
  } catch (e) {
    if (!(e instanceof RangeError)) throw e
    throw wrongSetting('HOLDFAST_OID_ARC', `is ${shown(arc)}`, `an object identifier such as ${defaultOidArc}`)
  }
}

const mib = 1024 * 1024
function packages(env: Env, dataDir: string): PackagesConfig {
  const largest = wholeNumber(env, 'HOLDFAST_PACKAGE_MIB')
  return {
    dir: resolve(env.HOLDFAST_PACKAGES_DIR || resolve(dataDir, 'packages')),
    bucket: bucket(env),
    largest: largest * mib,
    largestOfTenant: wholeNumber(env, 'HOLDFAST_PACKAGES_OF_TENANT_MIB', largest) * mib,
  }
}

function bucket(env: Env): PackagesConfig['bucket'] {
  const text = env.HOLDFAST_S3_BUCKET_URL
  const others = (['HOLDFAST_S3_REGION', 'HOLDFAST_S3_ACCESS_KEY_ID', 'HOLDFAST_S3_SECRET_ACCESS_KEY'] as const).filter(
    (name) => env[name],
  )
  if (!text && others.length > 0)
    throw new ConfigError(
      `${others[0]} is set without HOLDFAST_S3_BUCKET_URL, so packages would be stored in a folder: set the URL too, or remove the others.`,
    )
  if (!text) return undefined
  requireTogether(env, ['HOLDFAST_S3_ACCESS_KEY_ID', 'HOLDFAST_S3_SECRET_ACCESS_KEY', 'HOLDFAST_S3_BUCKET_URL'])
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password)
    throw wrongSetting(
      'HOLDFAST_S3_BUCKET_URL',
      `is ${shownUrl(text)}`,
      'a URL such as https://s3.example.com/bucket or https://bucket.s3.example.com, without query, user or password',
    )
  const region = env.HOLDFAST_S3_REGION || settings.HOLDFAST_S3_REGION.default
  if (!/^[a-z0-9-]{1,64}$/i.test(region))
    throw wrongSetting(
      'HOLDFAST_S3_REGION',
      `is ${shown(region)}`,
      'the name of a region such as eu-central-1, or auto',
    )
  return { url: url.origin + url.pathname.replace(/\/+$/, ''), region }
}

/** The message contains no part of the value, since it may hold a password. */
function smtpUrl(env: Env): string | undefined {
  const text = env.HOLDFAST_SMTP_URL
  if (!text) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const from = url?.searchParams.get('from')
  const wrong = (found: string) =>
    wrongSetting(
      'HOLDFAST_SMTP_URL',
      found,
      'a URL such as smtps://user:password@mail.example.com or smtp://mail.example.com:587?from=vpn@example.com',
    )
  if (!url?.hostname)
    throw wrong('is not a URL with a host (percent-encode characters such as / # ? @ in the password)')
  if (!/^smtps?:$/.test(url.protocol)) throw wrong(`begins with ${shown(`${url.protocol}//`)}`)
  if (from && !/^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/.test(from))
    throw wrong(`has from=${shown(from)}, which is not a mail address`)
  if (/^\/[^/]/.test(url.pathname) || url.hash) throw wrong('has a path or a # after the host')
  return text
}

/** The library is third-party code. It gets the environment for its own settings, but no variables of Holdfast. */
function pkcs11(env: Env): Config['pkcs11'] {
  requireTogether(env, ['HOLDFAST_PKCS11_LIBRARY', 'HOLDFAST_PKCS11_TOKEN', 'HOLDFAST_PKCS11_PIN_FILE'])
  const { HOLDFAST_PKCS11_LIBRARY: library, HOLDFAST_PKCS11_TOKEN: token, HOLDFAST_PKCS11_PIN_FILE: pinFile } = env
  if (!library || !token || !pinFile) return undefined
  if (!/^[^\p{Cc}]{1,32}$/u.test(token))
    throw wrongSetting('HOLDFAST_PKCS11_TOKEN', `is ${shown(token)}`, 'the label of a token, of up to 32 characters')
  const environment = Object.entries(env).filter(([name]) => !/^(HOLDFAST_|DATABASE_URL$|PG|NODE_)/.test(name))
  return { library, token, pinFile, environment: Object.fromEntries(environment) as Record<string, string> }
}

const knowable = settings.HOLDFAST_GATEWAYS_KNOW.choices
function gatewaysKnow(env: Env): Config['gatewaysKnow'] {
  const named = (env.HOLDFAST_GATEWAYS_KNOW ?? '').split(',').map((s) => s.trim())
  const found = named.filter(Boolean).map((name) => {
    const known = knowable.find((k) => k === name)
    if (!known)
      throw wrongSetting(
        'HOLDFAST_GATEWAYS_KNOW',
        `contains ${shown(name)}`,
        `${knowable.join(', ')}, or both separated by a comma`,
      )
    return known
  })
  return new Set(found)
}
