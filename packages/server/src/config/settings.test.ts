import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createRootCertificate, generateKey, mintSerial, softwareSigner } from '@holdfast/crypto'
import { checkFiles } from './check-files.ts'
import { parseConfig } from './config.ts'
import { type Env, type Variable, variables } from './env.ts'
import { givenSecrets, loadSecrets } from './secrets.ts'
import { ConfigError } from './wrong-setting.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-settings-'))
after(() => rmSync(folder, { recursive: true }))
function write(name: string, content: string): string {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

/** Part of each wrong value that may contain a secret. No message may repeat it. */
const secret = 'hunter2-Tr0ub4dor'

/** Makes a certificate that is valid from `from` to `to`, in days from now, and its key. */
async function certified(from: number, to: number) {
  const key = createPrivateKey({ key: generateKey('ES384').privateJwk, format: 'jwk' })
  const signer = softwareSigner('ca-root', { ...key.export({ format: 'jwk' }), alg: 'ES384' } as never)
  const on = (days: number) => new Date(Date.now() + days * 86_400_000)
  const dates = { notBefore: on(from), notAfter: on(to) }
  const { pem } = await createRootCertificate(signer, { tenantId: 't', serial: mintSerial(), ...dates })
  return { cert: pem, key: key.export({ type: 'pkcs8', format: 'pem' }).toString(), keyObject: key }
}
const good = await certified(-1, 300)
const certFile = write('cert.pem', good.cert)
const keyFile = write('key.pem', good.key)
const otherKey = write(
  'other.pem',
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
)
const passphrase = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
const encryptedKey = write('encrypted.pem', good.keyObject.export(passphrase) as string)
const expired = await certified(-30, -1)
const early = await certified(1, 30)
const missing = join(folder, 'missing.pem')
const empty = write('empty.pem', '\n')
const text = write('text.pem', 'nothing of the kind')
const cut = write('cut.pem', good.cert.slice(0, 200))
const garbled = write('garbled.pem', good.cert.replace(/^M.{20}/m, 'MAAAAAAAAAAAAAAAAAAAA'))
/** Changes the certificate to begin or end on the 31st of February. */
function withoutDate(pem: string, which: 'begin' | 'end'): string {
  const der = Buffer.from(pem.replace(/-----[A-Z ]+-----|\n/g, ''), 'base64')
  const first = der.indexOf(Buffer.from('170d', 'hex'))
  der.write('270231000000Z', first + (which === 'begin' ? 2 : 17), 'latin1')
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
}
const noDates = (['begin', 'end'] as const).map((which) => write(`no-${which}.pem`, withoutDate(good.cert, which)))
const noDateBehind = write('no-date-behind.pem', `${good.cert}\n${withoutDate(good.cert, 'end')}`)
const directory = join(folder, 'directory')
mkdirSync(directory)
const loop = join(folder, 'loop')
symlinkSync(loop, loop)
/** Folders that resemble the console's build but are not valid. */
const brokenBuilds = Object.entries({
  'no-entry': { manifest: {}, routes: { '/admin': { module: 'a' } } },
  'no-paths': { manifest: {}, routes: [7] },
  'no-view': { manifest: { a: { file: 'assets/a.js', isEntry: true } }, routes: { '/admin': { module: 'b' } } },
  'no-script': { manifest: { a: { file: 'assets/a.js', isEntry: true } }, routes: { '/admin': { module: 'a' } } },
  'foreign-read': {
    manifest: { a: { file: 'assets/a.js', isEntry: true } },
    routes: { '/admin': { module: 'a', reads: ['//other.example/'] } },
  },
}).map(([name, { manifest, routes }]) => {
  const build = join(folder, name)
  mkdirSync(join(build, 'assets'), { recursive: true })
  writeFileSync(join(build, 'manifest.json'), JSON.stringify(manifest))
  writeFileSync(join(build, 'routes.json'), JSON.stringify(routes))
  return build
})
/** Folders that resemble the site of the documentation but are not valid. */
const brokenSites = Object.entries({
  'no-list': { pages: 'index.html' },
  'no-index': { pages: ['404.html'], assets: [] },
  outside: { pages: ['index.html', '404.html', '../text.pem'], assets: [] },
  'absent-page': { pages: ['index.html', '404.html'], assets: [] },
}).map(([name, manifest]) => {
  const site = join(folder, `site-${name}`)
  mkdirSync(site)
  writeFileSync(join(site, 'manifest.json'), JSON.stringify(manifest))
  return site
})
const files = [missing, empty, text, directory, loop, `${text}/below`]

const tls = { HOLDFAST_TLS_CERT_FILE: certFile, HOLDFAST_TLS_KEY_FILE: keyFile }
const token = { HOLDFAST_PKCS11_LIBRARY: 'p11.so', HOLDFAST_PKCS11_TOKEN: 'a', HOLDFAST_PKCS11_PIN_FILE: text }
const bucket = {
  HOLDFAST_S3_BUCKET_URL: 'https://s3.example/bucket',
  HOLDFAST_S3_ACCESS_KEY_ID: 'id',
  HOLDFAST_S3_SECRET_ACCESS_KEY: secret,
}
const metrics = { HOLDFAST_METRICS_PORT: '9464' }
const numbers = ['-1', '1.5', '1e3', 'many', '0x10', ' 5', '99999999999999999999']
const ports = [...numbers, '65536']
const hosts = [
  '[::1]',
  '127.0.0.1:80',
  'http://a.example',
  '127.1',
  '300.1.1.1',
  'a b',
  'fe80::1%',
  'a.example/x',
  'ä.example',
]
const origins = [
  'vpn.example',
  'ftp://vpn.example',
  'https://vpn.example/path',
  'https://vpn.example/?a=b',
  'https://vpn.example/#a',
  `https://admin:${secret}@vpn.example`,
  `https://:${secret}@vpn.example`,
  'https://vpn.example:99999',
  'https://',
  'https://vpn.example:0',
  'https://vpn example',
  'line\nbreak',
]
const secrets = [secret, `${secret} ${'x'.repeat(32)}`, secret.repeat(20), `${secret}${'ä'.repeat(40)}`]
const lists = ['10.0.0.0/33', '10.1', '[::1]', 'fd00::/200', '10.0.0.0/8;10.1.0.0/16', 'internal', '010.0.0.1']

type Wrong = string | { [name in Variable]?: string }
/** Wrong values of each variable, alone or with other variables; or the reason why no value fails a start. */
const wrongs: Record<Variable, readonly Wrong[] | { none: string }> = {
  DATABASE_URL: [
    `mysql://u:${secret}@h/d`,
    `u:${secret}@h/d`,
    `postgres://u:${secret}@h:99999/d`,
    `postgres://u:${secret}/x@h/d`,
    `postgres://u:${secret}@h`,
    `postgres://u:${secret}@h/`,
    `postgres://u:%${secret}@h/d`,
    `postgres://u:${secret}#@h/d`,
    `postgres://u:${secret}@h/d?sslmode=always`,
    `postgres://u:${secret}@h/d?sslmode=require&sslrootcert=${missing}`,
    ...[empty, text, keyFile, directory, garbled].map((file) => `postgres://u:${secret}@h/d?sslrootcert=${file}`),
    `postgres://u:${secret}@h/d?sslkey=${certFile}`,
    `postgres://u:${secret}@h/d?sslcert=${keyFile}`,
  ],
  HOLDFAST_ADMIN_PASSWORD: { none: 'bootstrap.ts judges it by the rules of passwords (test/api/accounts.test.ts)' },
  HOLDFAST_ALLOWED_PRIVATE_CIDRS: lists,
  HOLDFAST_AUTH_FAILURES_PER_MINUTE: [...numbers, '0'],
  HOLDFAST_BREAK_GLASS_PASSWORD: {
    none: 'bootstrap.ts judges it by the rules of passwords (test/api/accounts.test.ts)',
  },
  HOLDFAST_CONSOLE_DIR: [missing, text, directory, ...brokenBuilds],
  HOLDFAST_DATABASE_CONNECTIONS: [...numbers, '1', '501'],
  HOLDFAST_DATA_DIR: [text, `${text}/below`, loop],
  HOLDFAST_DOCS_DIR: [missing, text, directory, ...brokenSites],
  HOLDFAST_DRAIN_SECONDS: [...numbers, '301'],
  HOLDFAST_GATEWAYS_KNOW: ['cities', 'countries;services'],
  HOLDFAST_GATEWAY_SERVICE_SECRET: secrets,
  HOLDFAST_HOST: hosts,
  HOLDFAST_KEEP_AUDIT_DAYS: [...numbers, '29'],
  HOLDFAST_KEEP_METERING_DAYS: [...numbers, '6'],
  HOLDFAST_KEEP_REVOKED_DEVICES_DAYS: [...numbers, '6'],
  HOLDFAST_KEEP_SESSIONS_DAYS: [...numbers, '6'],
  HOLDFAST_KEEP_TELEMETRY_DAYS: [...numbers, '6'],
  HOLDFAST_LICENSE_FILE: { none: 'a bad license ends no start: the log and a notification say so (docs/tenants.md)' },
  HOLDFAST_LICENSE_KEYS_FILE: { none: 'as HOLDFAST_LICENSE_FILE' },
  HOLDFAST_LOG_LEVEL: ['loud', 'INFO', 'warning'],
  HOLDFAST_LONGEST_WAIT_SECONDS: [...numbers, '0', '301'],
  HOLDFAST_MASTER_KEY_FILE: [empty, text, certFile, directory, loop, `${text}/below`],
  HOLDFAST_MAX_CONNECTIONS: [...numbers, '9'],
  HOLDFAST_METRICS_HOST: [
    ...hosts.map((host) => ({ ...metrics, HOLDFAST_METRICS_HOST: host })),
    { ...metrics, HOLDFAST_METRICS_HOST: '0.0.0.0' },
    '127.0.0.1',
  ],
  HOLDFAST_METRICS_PORT: [...ports, '0'],
  HOLDFAST_METRICS_TOKEN: secrets,
  HOLDFAST_OID_ARC: ['3.1', '1.3.06', 'enterprise'],
  HOLDFAST_PACKAGES_DIR: [text, `${text}/below`, loop],
  HOLDFAST_PACKAGES_OF_TENANT_MIB: [...numbers, '511'],
  HOLDFAST_PACKAGE_MIB: [...numbers, '0', '5121'],
  HOLDFAST_PKCS11_LIBRARY: [
    ...[missing, directory].map((file) => ({ ...token, HOLDFAST_PKCS11_LIBRARY: file })),
    { ...token, HOLDFAST_PKCS11_LIBRARY: '' },
  ],
  HOLDFAST_PKCS11_PIN_FILE: [missing, empty, directory, ''].map((file) => ({
    ...token,
    HOLDFAST_PKCS11_PIN_FILE: file,
  })),
  HOLDFAST_PKCS11_TOKEN: ['', 'x'.repeat(33), 'a\nb'].map((label) => ({ ...token, HOLDFAST_PKCS11_TOKEN: label })),
  HOLDFAST_PKI_PORT: [...ports, '0'],
  HOLDFAST_PKI_PUBLIC_URL: [
    ...[...origins, 'https://pki.example'].map((url) => ({ HOLDFAST_PKI_PORT: '8081', HOLDFAST_PKI_PUBLIC_URL: url })),
    'http://pki.example',
  ],
  HOLDFAST_PORT: ports,
  HOLDFAST_PUBLIC_URL: [...origins, { HOLDFAST_HOST: 'fe80::1%eth0' }],
  HOLDFAST_S3_ACCESS_KEY_ID: [{ ...bucket, HOLDFAST_S3_ACCESS_KEY_ID: '' }, secret],
  HOLDFAST_S3_BUCKET_URL: [
    's3.example/bucket',
    's3://bucket',
    `https://id:${secret}@s3.example/bucket`,
    'https://s3.example/b?a=b',
    'https://',
  ].map((url) => ({ ...bucket, HOLDFAST_S3_BUCKET_URL: url })),
  HOLDFAST_S3_REGION: [{ ...bucket, HOLDFAST_S3_REGION: 'eu central' }, 'eu-central-1'],
  HOLDFAST_S3_SECRET_ACCESS_KEY: [{ ...bucket, HOLDFAST_S3_SECRET_ACCESS_KEY: '' }, secret],
  HOLDFAST_SMTP_URL: [
    `https://u:${secret}@mail.example`,
    `u:${secret}@mail.example`,
    `smtp://u:${secret}@`,
    `smtp://u:${secret}@h:99999`,
    `smtp://u:${secret}@h?from=nobody`,
    `smtp://u:${secret}@h/path`,
    `smtp://u:${secret}#@h`,
  ],
  HOLDFAST_TLS_CERT_FILE: [
    ...files,
    ...noDates,
    noDateBehind,
    keyFile,
    cut,
    garbled,
    write('expired.pem', expired.cert),
    write('early.pem', early.cert),
    '',
  ].map((file) => ({ ...tls, HOLDFAST_TLS_CERT_FILE: file })),
  HOLDFAST_TLS_KEY_FILE: [
    ...files,
    certFile,
    otherKey,
    encryptedKey,
    write('cut-key.pem', good.key.slice(0, 60)),
    '',
  ].map((file) => ({ ...tls, HOLDFAST_TLS_KEY_FILE: file })),
  HOLDFAST_TRUSTED_PROXIES: lists,
}

/** Runs all checks that come before a start creates anything, and reads the master keys, which follow the database. */
async function begin(env: Env): Promise<void> {
  const config = parseConfig(env)
  givenSecrets(env, config)
  checkFiles(config)
  await loadSecrets(env, config)
}

for (const name of variables)
  test(`${name}: each wrong value is refused in one line that names it and repeats no secret`, async (t) => {
    const values = wrongs[name]
    if ('none' in values) return t.skip(values.none)
    for (const value of values) {
      const set = typeof value === 'string' ? { [name]: value } : value
      const env = { HOLDFAST_DATA_DIR: join(folder, 'data'), ...set }
      await assert.rejects(begin(env), (e: unknown) => {
        const { message } = e as Error
        assert.ok(e instanceof ConfigError, `${JSON.stringify(value)}: ${(e as Error).stack}`)
        assert.ok(message.includes(name), message)
        assert.match(message, /^[A-Z][^\p{Cc}]{40,700}\.$/u)
        assert.match(message, /set it to |set (both|all) or none|: set /, message)
        assert.ok(!message.includes(secret), message)
        if (process.env.SHOW) console.log(message)
        return true
      })
    }
  })

test('valid values are accepted', async () => {
  const ca = `postgres://u:p@h:5432/d?sslmode=require&sslrootcert=${certFile}`
  assert.match(parseConfig({ DATABASE_URL: ca }).databaseUrl!, /sslmode=verify-full&sslrootcert=/)
  for (const url of ['postgres://u@/d?host=/run/postgresql', 'postgresql://u:p%23@[::1]:5432/d', 'postgres://h/d'])
    assert.equal(parseConfig({ DATABASE_URL: url }).databaseUrl, url)
  for (const host of ['::1', '0.0.0.0', 'localhost', 'vpn-1.example.com'])
    assert.equal(parseConfig({ HOLDFAST_HOST: host }).host, host)
  await begin({ HOLDFAST_DATA_DIR: join(folder, 'good'), ...tls, ...bucket, ...token })
})
