import { longestHoldSeconds } from '@holdfast/contract/limits'
import { defaultOidArc } from '@holdfast/crypto'

/** One variable of the environment: bounds and default for the parser, and the row of docs/reference/settings.md. */
type Setting = {
  /** Part of the page. */
  group: (typeof groups)[number]
  /** Value that the parser takes if the variable is not set. */
  default?: string | number
  /** Consequence of an unset variable without a default value. */
  unset?: string
  unit?: 'seconds' | 'days' | 'MiB' | 'connections' | 'failures a minute'
  /** Bounds of a whole number. */
  min?: number
  max?: number
  /** The valid words. */
  choices?: readonly string[]
  meaning: string
}

export const groups = [
  'Addresses',
  'Proxies and limits',
  'Files and keys',
  'Database',
  'First administrator and recovery',
  'Metrics',
  'Certificates of devices',
  'Packages of releases',
  'Notifications and outgoing requests',
  'Retention',
  'License, policy, log',
] as const

const port = { min: 1, max: 65_535 }
const kept = { group: 'Retention', unit: 'days', min: 7, max: 36_500 } as const

/** All variables of the server. A test tries wrong values of each. */
export const settings = {
  HOLDFAST_HOST: {
    group: 'Addresses',
    default: '127.0.0.1',
    meaning:
      'Listening address or host name of the API, and of `HOLDFAST_PKI_PORT`. `0.0.0.0` and `::` are all interfaces',
  },
  HOLDFAST_PORT: {
    group: 'Addresses',
    default: 8080,
    min: 0,
    max: port.max,
    meaning: 'Listening port of the API and the console. 0: any free port',
  },
  HOLDFAST_PUBLIC_URL: {
    group: 'Addresses',
    unset: '`http://<host>:<port>`, with `127.0.0.1` for all interfaces',
    meaning:
      'Origin under which clients reach the deployment, without a path. Credentials name it as their issuer, and proofs of devices must name it. A sign-in at another address is refused. If the variable is not set, `localhost`, `127.0.0.1` and `[::1]` are one origin, and other machines cannot sign in or enroll',
  },
  HOLDFAST_TLS_CERT_FILE: {
    group: 'Addresses',
    unset: 'plain HTTP',
    meaning:
      'PEM file with the certificate of the server, then its intermediates. Set it together with the key. With an expired certificate the server does not start',
  },
  HOLDFAST_TLS_KEY_FILE: {
    group: 'Addresses',
    unset: 'plain HTTP',
    meaning: 'PEM file with the key of the certificate, without a passphrase',
  },
  HOLDFAST_TRUSTED_PROXIES: {
    group: 'Proxies and limits',
    unset: 'none',
    meaning:
      'Addresses or CIDRs of proxies, separated by commas. The server reads the address of the client from their `X-Forwarded-For`, see [proxies](../deploy/proxy.md#client-addresses). `Forwarded` is not read',
  },
  HOLDFAST_LONGEST_WAIT_SECONDS: {
    group: 'Proxies and limits',
    unit: 'seconds',
    default: longestHoldSeconds,
    min: 1,
    max: longestHoldSeconds,
    meaning: 'Longest time for which the server holds a request (`Prefer: wait`). A proxy in front must wait longer',
  },
  HOLDFAST_DRAIN_SECONDS: {
    group: 'Proxies and limits',
    unit: 'seconds',
    default: 5,
    min: 0,
    max: 300,
    meaning:
      'Time for which a stopping replica still serves. `/readyz` is 503 meanwhile, so that proxies remove the replica',
  },
  HOLDFAST_MAX_CONNECTIONS: {
    group: 'Proxies and limits',
    unit: 'connections',
    default: 100_000,
    min: 10,
    max: 10_000_000,
    meaning:
      'Maximum on the port of the API, and the same on `HOLDFAST_PKI_PORT`. The server closes further ones at once',
  },
  HOLDFAST_AUTH_FAILURES_PER_MINUTE: {
    group: 'Proxies and limits',
    unit: 'failures a minute',
    default: 600,
    min: 1,
    max: 10_000_000,
    meaning:
      'Number of wrong credentials from one address (IPv6: /64). After that the address gets 429; valid credentials still pass',
  },
  HOLDFAST_DATA_DIR: {
    group: 'Files and keys',
    default: 'data',
    meaning:
      'Folder of the embedded database, the master key, generated secrets and packages, unless other variables name other places',
  },
  HOLDFAST_MASTER_KEY_FILE: {
    group: 'Files and keys',
    unset: '`<data dir>/master.key`',
    meaning:
      'File with up to four keys: lines of 32 bytes in base64. The server writes with the first key and reads with all. All replicas have the same file. The first start creates it, but never for a database that is already encrypted, see [master key](../master-key.md)',
  },
  HOLDFAST_GATEWAY_SERVICE_SECRET: {
    group: 'Files and keys',
    unset: 'derived from each master key. `<data dir>/gateway-service.secret` contains that of the first key',
    meaning:
      'Gateway secret of the whole deployment, for tools: 32 to 256 characters. A request with it names `tenant_id` and `gateway_id`',
  },
  HOLDFAST_PKCS11_LIBRARY: {
    group: 'Files and keys',
    unset: 'new keys are in the database, encrypted with the master key',
    meaning: 'PKCS#11 library of the token (HSM) for new signing keys, see [HSM](../hsm.md)',
  },
  HOLDFAST_PKCS11_TOKEN: {
    group: 'Files and keys',
    unset: 'no token',
    meaning: 'Label of that token, of up to 32 characters. Set all three PKCS#11 variables or none',
  },
  HOLDFAST_PKCS11_PIN_FILE: {
    group: 'Files and keys',
    unset: 'no token',
    meaning: 'File whose first line is the PIN of the token',
  },
  HOLDFAST_CONSOLE_DIR: {
    group: 'Files and keys',
    unset: '`npm start` builds the console and sets it',
    meaning: 'Folder of the built web console. Without it `/admin` shows a plain page',
  },
  HOLDFAST_DOCS_DIR: {
    group: 'Files and keys',
    unset: '`npm start` builds the documentation and sets it',
    meaning: 'Folder of the built documentation. Without it `/admin/docs` has no pages',
  },
  DATABASE_URL: {
    group: 'Database',
    unset: 'embedded PostgreSQL in the data folder',
    meaning: 'URL of PostgreSQL 15 or newer, see [PostgreSQL](../deploy/postgresql.md)',
  },
  HOLDFAST_DATABASE_CONNECTIONS: {
    group: 'Database',
    unit: 'connections',
    default: 20,
    min: 2,
    max: 500,
    meaning:
      'Maximum of a replica for requests. A replica has up to six more: one for the change feed, and five for jobs. If PostgreSQL has no free connection, requests wait for one',
  },
  HOLDFAST_ADMIN_PASSWORD: {
    group: 'First administrator and recovery',
    unset: 'generated, printed once',
    meaning:
      'Password of the first administrator, `admin`. Only the first start uses it. The rules for passwords apply',
  },
  HOLDFAST_BREAK_GLASS_PASSWORD: {
    group: 'First administrator and recovery',
    unset: 'no recovery',
    meaning:
      'Recovery of access. Each start gives this password and the role `platform_admin` to the user `break-glass` of the tenant `default`, and unlocks that user. So remove the variable afterwards, see [recovery](../enforce-sso.md#when-all-else-fails)',
  },
  HOLDFAST_METRICS_PORT: {
    group: 'Metrics',
    unset: 'no metrics',
    ...port,
    meaning: 'Port for Prometheus, plain HTTP, see [metrics](../metrics.md)',
  },
  HOLDFAST_METRICS_HOST: {
    group: 'Metrics',
    default: '127.0.0.1',
    meaning: 'Listening address of `HOLDFAST_METRICS_PORT`',
  },
  HOLDFAST_METRICS_TOKEN: {
    group: 'Metrics',
    unset: 'no token',
    meaning:
      'Token that a collector sends as `Authorization: Bearer`: 32 to 256 characters. Needed unless `HOLDFAST_METRICS_HOST` is a loopback address',
  },
  HOLDFAST_PKI_PORT: {
    group: 'Certificates of devices',
    unset: 'not served',
    ...port,
    meaning:
      'Port for revocation lists, OCSP and certificates of authorities, in plain HTTP and without authentication. Certificates of devices then contain its URLs, see [certificates](../pki.md#the-pki-listener)',
  },
  HOLDFAST_PKI_PUBLIC_URL: {
    group: 'Certificates of devices',
    unset: '`http://<host>:<port>` of `HOLDFAST_PKI_PORT`',
    meaning:
      'Origin in certificates under which verifiers reach `HOLDFAST_PKI_PORT`, the same on every replica. It begins with `http://`, because all data served there is signed',
  },
  HOLDFAST_OID_ARC: {
    group: 'Certificates of devices',
    default: defaultOidArc,
    meaning:
      'Your own OID arc (private enterprise number). Certificates name the policy of their device by an OID in this arc. The default is the arc for examples (RFC 5612)',
  },
  HOLDFAST_PACKAGES_DIR: {
    group: 'Packages of releases',
    unset: '`<data dir>/packages`',
    meaning:
      'Folder for packages. With a bucket it contains only uploads in progress. Several replicas without a bucket share one folder',
  },
  HOLDFAST_PACKAGE_MIB: {
    group: 'Packages of releases',
    unit: 'MiB',
    default: 512,
    min: 1,
    // The limit of one upload request to a bucket is 5 GiB.
    max: 5120,
    meaning: 'Largest size of one package',
  },
  HOLDFAST_PACKAGES_OF_TENANT_MIB: {
    group: 'Packages of releases',
    unit: 'MiB',
    default: 20_480,
    min: 1,
    max: 1_000_000_000,
    meaning: 'Largest size of all packages of a tenant, not less than `HOLDFAST_PACKAGE_MIB`',
  },
  HOLDFAST_S3_BUCKET_URL: {
    group: 'Packages of releases',
    unset: 'packages are in the folder',
    meaning:
      'Bucket for packages: `https://s3.example.com/bucket` or `https://bucket.s3.example.com`. A private address is valid',
  },
  HOLDFAST_S3_REGION: { group: 'Packages of releases', default: 'auto', meaning: 'Region of the bucket' },
  HOLDFAST_S3_ACCESS_KEY_ID: {
    group: 'Packages of releases',
    unset: 'no bucket',
    meaning: 'Access key of the bucket. It must be allowed to read, write and delete objects',
  },
  HOLDFAST_S3_SECRET_ACCESS_KEY: {
    group: 'Packages of releases',
    unset: 'no bucket',
    meaning: 'Secret of this access key',
  },
  HOLDFAST_SMTP_URL: {
    group: 'Notifications and outgoing requests',
    unset: 'no e-mail',
    meaning:
      'Mail server: `smtp://host:587` (STARTTLS) or `smtps://user:password@host:port?from=address`, see [notifications](../notifications.md)',
  },
  HOLDFAST_ALLOWED_PRIVATE_CIDRS: {
    group: 'Notifications and outgoing requests',
    unset: 'none',
    meaning: 'Private addresses that URLs of tenants (webhooks, identity providers) may reach, separated by commas',
  },
  HOLDFAST_KEEP_SESSIONS_DAYS: {
    ...kept,
    default: 90,
    meaning:
      'VPN sessions, after their end. All `HOLDFAST_KEEP_…` must be the same on every replica: each start stores its values. A shorter period takes effect a day later',
  },
  HOLDFAST_KEEP_TELEMETRY_DAYS: { ...kept, default: 30, meaning: 'Telemetry of devices' },
  HOLDFAST_KEEP_METERING_DAYS: { ...kept, default: 400, meaning: 'Metering reports' },
  HOLDFAST_KEEP_REVOKED_DEVICES_DAYS: { ...kept, default: 90, meaning: 'Revoked devices, after their revocation' },
  HOLDFAST_KEEP_AUDIT_DAYS: {
    ...kept,
    min: 30,
    unset: 'for good',
    meaning: 'Events of the audit log. A tenant may keep them for less time',
  },
  HOLDFAST_LICENSE_FILE: {
    group: 'License, policy, log',
    unset: 'the community license',
    meaning:
      'File of the license. The server reads it at its start and by `holdfast license reload`, see [licenses](../licenses.md)',
  },
  HOLDFAST_LICENSE_KEYS_FILE: {
    group: 'License, policy, log',
    unset: 'no license is valid',
    meaning: 'File with the public keys (PEM) of the issuers of licenses',
  },
  HOLDFAST_GATEWAYS_KNOW: {
    group: 'License, policy, log',
    unset: 'none',
    choices: ['countries', 'services'],
    meaning:
      'Data that all gateways have: `countries` (the country of an address), `services` (addresses of services), or both with a comma. The server refuses a policy that needs data which is not listed here, see [decisions](../policy/decisions.md)',
  },
  HOLDFAST_LOG_LEVEL: {
    group: 'License, policy, log',
    default: 'info',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    meaning: 'Lowest level that is logged',
  },
} as const satisfies Record<string, Setting>

export type Variable = keyof typeof settings
/** A variable that is a whole number. */
export type NumberVariable = { [V in Variable]: (typeof settings)[V] extends { max: number } ? V : never }[Variable]
/** Returns a setting with all optional fields. */
export const settingOf = (name: Variable): Setting => settings[name]
