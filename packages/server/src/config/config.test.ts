import assert from 'node:assert/strict'
import { test } from 'node:test'
import { spiffeId } from '@holdfast/crypto'
import { trustDomainOf } from '../modules/certificates/spc/prepare.ts'
import { ConfigError, parseConfig } from './config.ts'

test('the mail server must be an smtp URL, and its error does not repeat the password', () => {
  assert.equal(parseConfig({}).smtpUrl, undefined)
  const good = ['smtp://mail.example', 'smtps://u:p@mail.example:465?from=vpn@example.com', 'smtp://[::1]:25']
  for (const url of good) assert.equal(parseConfig({ HOLDFAST_SMTP_URL: url }).smtpUrl, url)
  for (const url of [
    'https://user:hunter2@mail.example',
    'mail.example hunter2',
    'smtp://user:hunter2@',
    'smtp://user:hunter2@mail.example?from=a@b%0d%0aBcc:x@y',
    'smtp://user:hunter2@mail.example?from=nobody',
  ])
    assert.throws(
      () => parseConfig({ HOLDFAST_SMTP_URL: url }),
      (e) => e instanceof ConfigError && /HOLDFAST_SMTP_URL/.test(e.message) && !/hunter2/.test(e.message),
      url,
    )
})

test('the public URL must be an origin with a host that certificates can name', () => {
  for (const url of [
    'https://vpn.example.com',
    'http://vpn_1.example.com:8080',
    'https://[::1]',
    'https://192.0.2.1',
  ]) {
    const { publicUrl } = parseConfig({ HOLDFAST_PUBLIC_URL: url })
    assert.equal(publicUrl, url)
    assert.match(spiffeId(trustDomainOf(publicUrl), 't', 'd'), /^spiffe:/)
  }
  for (const url of [
    'https://vpn.example.com/path',
    'https://user@vpn.example.com',
    'https://vpn+1.example.com',
    "https://vpn'.example.com",
    `https://${'vpn.'.repeat(64)}example.com`,
  ])
    assert.throws(
      () => parseConfig({ HOLDFAST_PUBLIC_URL: url }),
      (e) => e instanceof ConfigError && /HOLDFAST_PUBLIC_URL/.test(e.message),
      url,
    )
})

test('allowed private networks are CIDRs or addresses; the default is none', () => {
  assert.deepEqual(parseConfig({}).allowedPrivateCidrs, [])
  const { allowedPrivateCidrs } = parseConfig({ HOLDFAST_ALLOWED_PRIVATE_CIDRS: '10.1.0.0/16, fd00::/8,127.0.0.1' })
  assert.deepEqual(allowedPrivateCidrs, ['10.1.0.0/16', 'fd00::/8', '127.0.0.1'])
  assert.throws(() => parseConfig({ HOLDFAST_ALLOWED_PRIVATE_CIDRS: '10.0.0.0/8,inside' }), /ALLOWED_PRIVATE_CIDRS/)
})

test('the condition kinds that gateways know are listed; the default is none', () => {
  assert.deepEqual(parseConfig({}).gatewaysKnow, new Set())
  assert.deepEqual(parseConfig({ HOLDFAST_GATEWAYS_KNOW: 'services, countries' }).gatewaysKnow.size, 2)
  assert.throws(
    () => parseConfig({ HOLDFAST_GATEWAYS_KNOW: 'cities' }),
    /HOLDFAST_GATEWAYS_KNOW contains "cities"; set it to countries, services/,
  )
})

test('retention periods are at least a week; defaults apply otherwise', () => {
  const { keptDays } = parseConfig({ HOLDFAST_KEEP_SESSIONS_DAYS: '365', HOLDFAST_KEEP_REVOKED_DEVICES_DAYS: '7' })
  assert.deepEqual(keptDays, {
    audit: null,
    vpn_sessions: 365,
    telemetry: 30,
    metering: 400,
    revoked_devices: 7,
  })
  for (const days of ['6', '-1', '1.5', 'for ever'])
    assert.throws(
      () => parseConfig({ HOLDFAST_KEEP_TELEMETRY_DAYS: days }),
      (e) => e instanceof ConfigError && /HOLDFAST_KEEP_TELEMETRY_DAYS/.test(e.message),
    )
})

test('a PKCS#11 token needs all its settings, and its library gets none of ours', () => {
  const named = { HOLDFAST_PKCS11_LIBRARY: '/p11.so', HOLDFAST_PKCS11_TOKEN: 'a', HOLDFAST_PKCS11_PIN_FILE: '/pin' }
  assert.equal(parseConfig({}).pkcs11, undefined)
  const { pkcs11 } = parseConfig({
    ...named,
    ...{ SOFTHSM2_CONF: '/conf', PGPASSWORD: 'x' },
    DATABASE_URL: 'postgres://u:p@h/d',
  })
  assert.deepEqual(pkcs11, {
    library: '/p11.so',
    token: 'a',
    pinFile: '/pin',
    environment: { SOFTHSM2_CONF: '/conf' },
  })
  for (const name of Object.keys(named))
    assert.throws(
      () => parseConfig({ ...named, [name]: '' }),
      /HOLDFAST_PKCS11_.* not set, .*: set all or none of them/,
    )
})

test('the PKI listener is plain HTTP at the configured URL; the default is none', () => {
  assert.equal(parseConfig({}).pki, undefined)
  assert.deepEqual(parseConfig({ HOLDFAST_PKI_PORT: '8081' }).pki, { port: 8081, url: 'http://127.0.0.1:8081' })
  const named = { HOLDFAST_PKI_PORT: '8081', HOLDFAST_PKI_PUBLIC_URL: 'http://pki.example.com/' }
  assert.deepEqual(parseConfig(named).pki, { port: 8081, url: 'http://pki.example.com' })
  assert.equal(parseConfig({ HOLDFAST_PKI_PORT: '8081', HOLDFAST_HOST: '::1' }).pki?.url, 'http://[::1]:8081')
  for (const wrong of [
    { HOLDFAST_PKI_PORT: '0' },
    { HOLDFAST_PKI_PUBLIC_URL: 'http://pki.example.com' },
    { ...named, HOLDFAST_PKI_PUBLIC_URL: 'https://pki.example.com' },
    { ...named, HOLDFAST_PKI_PUBLIC_URL: 'http://pki.example.com/path' },
  ])
    assert.throws(
      () => parseConfig(wrong),
      (e) => e instanceof ConfigError && /HOLDFAST_PKI/.test(e.message),
      JSON.stringify(wrong),
    )
})

test('metrics are served on loopback, or on other addresses with a token; the default is none', () => {
  const port = { HOLDFAST_METRICS_PORT: '9464' }
  assert.equal(parseConfig({}).metrics, undefined)
  assert.deepEqual(parseConfig(port).metrics, { host: '127.0.0.1', port: 9464 })
  for (const host of ['127.0.0.2', '::1', 'localhost'])
    assert.deepEqual(parseConfig({ ...port, HOLDFAST_METRICS_HOST: host }).metrics, { host, port: 9464 })
  const open = { ...port, HOLDFAST_METRICS_HOST: '0.0.0.0' }
  assert.equal(parseConfig({ ...open, HOLDFAST_METRICS_TOKEN: 't'.repeat(32) }).metrics?.host, '0.0.0.0')
  const others = ['::', '10.0.0.1', '127.0.0.1.example.com', 'localhost.example.com', '1127.0.0.1']
  for (const wrong of [
    ...[open, { HOLDFAST_METRICS_HOST: '127.0.0.1' }, { HOLDFAST_METRICS_PORT: '0' }],
    ...others.map((host) => ({ ...port, HOLDFAST_METRICS_HOST: host })),
  ])
    assert.throws(
      () => parseConfig(wrong),
      (e) => e instanceof ConfigError && /HOLDFAST_METRICS/.test(e.message),
      JSON.stringify(wrong),
    )
})

test('the OID arc must be an object identifier; the default is that for examples', () => {
  assert.equal(parseConfig({}).oidArc, '1.3.6.1.4.1.32473')
  assert.equal(parseConfig({ HOLDFAST_OID_ARC: '1.3.6.1.4.1.55555' }).oidArc, '1.3.6.1.4.1.55555')
  for (const arc of ['3.1', '1.3.06', '1.3.6.', 'enterprise', '2.25.340282366920938463463374607431768211455'])
    assert.throws(
      () => parseConfig({ HOLDFAST_OID_ARC: arc }),
      (e) => e instanceof ConfigError && /HOLDFAST_OID_ARC/.test(e.message),
      arc,
    )
})

test('without a public URL the loopback names share one origin, and a wildcard host is reached by one of them', () => {
  const at = (env: Record<string, string>) => {
    const { publicUrl, publicUrlIsSet, otherOrigins } = parseConfig(env)
    return { publicUrl, publicUrlIsSet, otherOrigins }
  }
  const v4 = 'http://127.0.0.1:8080'
  const [name, v6] = ['http://localhost:8080', 'http://[::1]:8080']
  assert.deepEqual(at({}), { publicUrl: v4, publicUrlIsSet: false, otherOrigins: [name, v6] })
  const any = at({ HOLDFAST_HOST: '0.0.0.0' })
  assert.deepEqual(any, { publicUrl: v4, publicUrlIsSet: false, otherOrigins: [name, v6, 'http://0.0.0.0:8080'] })
  assert.equal(at({ HOLDFAST_HOST: '::' }).publicUrl, v4)
  assert.deepEqual(at({ HOLDFAST_HOST: '::1', HOLDFAST_PORT: '1' }).publicUrl, 'http://[::1]:1')
  const lan = { publicUrl: 'http://192.0.2.1:8080', publicUrlIsSet: false, otherOrigins: [] }
  assert.deepEqual(at({ HOLDFAST_HOST: '192.0.2.1' }), lan)
  for (const publicUrl of ['https://vpn.example.com', 'http://localhost:8080'])
    assert.deepEqual(at({ HOLDFAST_PUBLIC_URL: publicUrl }), { publicUrl, publicUrlIsSet: true, otherOrigins: [] })
})
