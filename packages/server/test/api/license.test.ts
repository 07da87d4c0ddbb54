import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { generateLicenseKey, type LicenseClaims, signLicense } from '@holdfast/crypto'
import { encodeId } from '../../src/kernel/ids.ts'
import { enrollRaw } from '../support/actors/devices.ts'
import { refused } from '../support/clients/answers.ts'
import { call, operation } from '../support/clients/api-calls.ts'
import { createClock, runJob, startKit } from '../support/deployment/deployment.ts'

const key = generateLicenseKey()
const day = 86_400
const inSeconds = (seconds: number, now = Date.now()) => Math.floor(now / 1000) + seconds

const claimsOf = (more: Partial<LicenseClaims> = {}): LicenseClaims => ({
  iss: 'Holdfast',
  sub: 'Acme Inc.',
  jti: 'lic-1',
  iat: inSeconds(-60),
  nbf: inSeconds(-60),
  exp: inSeconds(30 * day),
  grace_days: 14,
  edition: 'enterprise',
  features: ['siem'],
  limits: { devices: 3, tenants: 2 },
  ...more,
})
const flip = (text: string, at: number) => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)

/** A deployment with a license file that tests write. */
async function licensed(t: TestContext, first: string | undefined, options: Parameters<typeof startKit>[1] = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'hft-license-'))
  t.after(() => rm(folder, { recursive: true }))
  const [file, keysFile] = [join(folder, 'license.jws'), join(folder, 'keys.pem')]
  await writeFile(keysFile, key.publicKey)
  if (first !== undefined) await writeFile(file, first)
  const kit = await startKit(t, { ...options, config: { license: { file, keysFile } } })
  return {
    kit,
    write: (text: string | Buffer) => writeFile(file, text),
    writeKeys: (text: string) => writeFile(keysFile, text),
    remove: () => rm(file),
    reload: () => kit.admin.reloadLicense(),
    status: () => kit.admin.getLicenseStatus(),
    own: encodeId('tenant', kit.tenant),
  }
}
const first = claimsOf()
const good = signLicense(first, key.privateKey)

test('without a license file the community license limits nothing', async (t) => {
  const kit = await startKit(t)
  const status = await kit.admin.getLicenseStatus()
  assert.deepEqual(
    [status.source, status.state, status.edition, status.limits],
    ['community', 'active', 'community', {}],
  )
  assert.equal((await kit.admin.reloadLicense()).changed, false)
})

test('a license is loaded at the start, applies to every tenant, and is shown', async (t) => {
  const { kit, status, own } = await licensed(t, good)
  const { deployment_id, loaded_at, ...shown } = await status()
  assert.match(deployment_id, /^[0-9a-f-]{36}$/)
  assert.ok(loaded_at)
  assert.deepEqual(
    [shown.source, shown.state, shown.edition, shown.customer, shown.issuer, shown.license_id, shown.problem],
    ['file', 'active', 'enterprise', 'Acme Inc.', 'Holdfast', 'lic-1', null],
  )
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  for (let i = 0; i < 3; i++) await enrollRaw(kit, token, `d${i}`)
  await assert.rejects(enrollRaw(kit, token, 'one too many'), /409/)
  const resolved = await kit.admin.getEntitlement({ params: { tenant_id: own } })
  assert.deepEqual([resolved.limits.devices, resolved.sources.devices, resolved.features], [3, 'license', ['siem']])
  await kit.admin.changeTenant({ body: { operation: 'create', tenant: { name: 'second' } } })
  await assert.rejects(
    kit.admin.changeTenant({ body: { operation: 'create', tenant: { name: 'third' } } }),
    refused(409, /allows 2 tenants/),
  )
})

test('an invalid license is a 422 with the reason, and the previous one stays', async (t) => {
  const { kit, write, writeKeys, remove, reload, status } = await licensed(t, good)
  const other = generateLicenseKey()
  const [header = '', payload = '', signature = ''] = good.split('.')
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = (more: Partial<LicenseClaims>) =>
    signLicense(claimsOf({ jti: 'lic-2', iat: inSeconds(-30), ...more }), key.privateKey)
  const before = await status()
  const wrongs: Record<string, readonly [string | Buffer | undefined, RegExp]> = {
    'no file': [undefined, /cannot be read \(ENOENT\)/],
    empty: ['', /empty/],
    'cut off': [good.slice(0, 200), /can(?:'t|not) be read/],
    'a changed claim': [
      `${header}.${encode({ ...claimsOf(), limits: {} })}.${signature}`,
      /changed after it was signed|signature/,
    ],
    'a changed signature': [`${header}.${payload}.${flip(signature, 5)}`, /changed after it was signed|signature/],
    'no algorithm': [`${encode({ typ: 'license+jwt', alg: 'none', kid: key.kid })}.${payload}.`, /Ed25519|read/],
    'another key': [signLicense(claimsOf({ jti: 'x' }), other.privateKey), /signed with an unknown key/],
    'another kind of file': [
      `${encode({ typ: 'device+jwt', alg: 'Ed25519', kid: key.kid })}.${payload}.${signature}`,
      /not a license/,
    ],
    'bytes that are no text': [Buffer.from([0xff, 0xfe, 0x00, 0x41]), /read/],
    expired: [signed({ nbf: inSeconds(-90 * day), exp: inSeconds(-20 * day) }), /expired at/],
    'not valid yet': [signed({ nbf: inSeconds(day) }), /not valid before/],
    older: [signed({ iat: inSeconds(-3600) }), /before the current license/],
    'from the future': [signed({ iat: inSeconds(3600) }), /issued in the future/],
    'of another deployment': [signed({ deployment_id: '01234567-89ab-cdef-0123-456789abcdef' }), /another deployment/],
    'of the same moment': [signed({ iat: first.iat, jti: 'lic-3' }), /the current license has the same time of issue/],
  }
  for (const [what, [text, why]] of Object.entries(wrongs)) {
    if (text === undefined) await remove()
    else await write(text)
    await assert.rejects(reload(), refused(422, why), what)
    const { problem, ...now } = await status()
    assert.deepEqual({ ...now, problem: null }, before, `${what}: the license before goes on`)
    assert.match(problem?.detail ?? '', why)
  }
  await write(good)
  await writeKeys('no key')
  await assert.rejects(reload(), refused(422, /PEM|key/i))
  await writeKeys(key.publicKey)
  const again = await reload()
  assert.deepEqual([again.changed, again.license.problem], [false, null])

  // Each refusal is recorded; a newer problem replaces the old one.
  await write(signed({ limits: { devices: 10 }, edition: 'unlimited' }))
  const loaded = await reload()
  assert.deepEqual(
    [loaded.changed, loaded.license.edition, loaded.license.limits],
    [true, 'unlimited', { devices: 10 }],
  )
  const events = await kit.admin.listAuditEvents({ query: { kind: 'license.reloaded' } })
  assert.equal(events.items.length, 3)
})

test('a license with a changed byte is refused', async (t) => {
  const { write, reload, status } = await licensed(t, good)
  const next = Buffer.from(signLicense(claimsOf({ jti: 'lic-2', iat: inSeconds(-10), limits: {} }), key.privateKey))
  for (let i = 0; i < 16; i++) {
    const broken = Buffer.from(next)
    const at = (i * 7919) % broken.length
    broken[at] = (broken[at] ?? 0) ^ (1 << (i % 8))
    await write(broken)
    await assert.rejects(reload(), refused(422))
  }
  assert.equal((await status()).license_id, 'lic-1')
})

test('the grace period changes nothing; after it additions are refused and existing things stay', async (t) => {
  const clock = createClock()
  const { kit, status, own, write, reload } = await licensed(t, signLicense(claimsOf({ limits: {} }), key.privateKey), {
    now: clock.now,
  })
  const client = kit.clientFor(kit.adminKey)
  const { secret: token } = await client.generateToken({ body: { max_uses: 0, expires_in_seconds: 89 * day } })
  const { user } = await client.changeUser({ body: { operation: 'create', user: { username: 'before' } } })
  clock.advance(24 * day)
  await runJob(kit.app, 'warn_of_expiry')
  const { items } = await client.listNotifications({ query: {} })
  assert.ok(items.some((n) => n.kind === 'expiring' && n.title.includes('license enterprise')))
  clock.advance(7 * day)
  assert.equal((await status()).state, 'grace')
  await client.changeUser({ body: { operation: 'create', user: { username: 'in-grace' } } })
  clock.advance(15 * day)
  const { state, metrics, blocked } = await client
    .getEntitlementStatus({ params: { tenant_id: own } })
    .then((s) => ({ state: s.license_state, ...s }))
  assert.equal(state, 'expired')
  assert.deepEqual(blocked, ['users', 'devices', 'gateways', 'sessions', 'api_keys'])
  assert.ok(metrics.every((m) => m.state === 'ok'))
  const late = refused(409, /license of this deployment has expired/)
  await assert.rejects(client.changeUser({ body: { operation: 'create', user: { username: 'late' } } }), late)
  await assert.rejects(client.createApiKey({ body: { name: 'late', role: 'viewer' } }), late)
  await assert.rejects(client.changeTenant({ body: { operation: 'create', tenant: { name: 'late' } } }), late)
  // Existing objects keep working, and can be removed.
  assert.equal((await client.suspendUser({ body: { user_id: user.user_id } })).changed, true)
  assert.ok((await client.listAuditEvents({ query: { limit: 1 } })).items.length > 0)
  assert.equal((await client.listTokens({ query: {} })).items[0]?.hint, token.slice(-4))

  await write(
    signLicense(
      claimsOf({
        jti: 'lic-2',
        limits: {},
        iat: inSeconds(0, clock.now().getTime()),
        exp: inSeconds(day, clock.now().getTime()),
      }),
      key.privateKey,
    ),
  )
  await reload()
  await client.changeUser({ body: { operation: 'create', user: { username: 'late' } } })
})

const halfAnHour = signLicense(claimsOf({ exp: inSeconds(30 * 60), grace_days: 0 }), key.privateKey)
for (const [what, license, seconds, expected] of [
  ['that is set back revives no license', halfAnHour, [40 * 60, -20 * 60], ['expired', 'expired']],
  ['that was far ahead for a while ends no license', good, [60 * day, -60 * day], ['expired', 'active']],
] as const)
  test(`a clock ${what}`, async (t) => {
    const clock = createClock()
    const { kit } = await licensed(t, license, { now: clock.now })
    const states: string[] = []
    for (const s of seconds) {
      clock.advance(s)
      await runJob(kit.app, 'count_entitlements')
      states.push((await kit.clientFor(kit.adminKey).getLicenseStatus()).state)
    }
    assert.deepEqual(states, expected)
  })

test('an invalid license file does not prevent the first start, and blocks additions until it is replaced', async (t) => {
  const { kit, status, write, reload } = await licensed(t, 'not a license')
  const { state, problem } = await status()
  assert.equal(state, 'required')
  assert.match(problem?.detail ?? '', /read/)
  assert.ok(kit.logs.some((line) => line.includes('license file refused')))
  assert.equal((await kit.admin.listNotifications({ query: {} })).items[0]?.kind, 'license.problem')
  await assert.rejects(
    kit.admin.changeUser({ body: { operation: 'create', user: { username: 'x' } } }),
    refused(409, /no valid license/),
  )
  assert.equal((await call(kit, operation('ready'), null)).status, 200)
  await write(good)
  await reload()
  await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'x' } } })
  // A start with a broken file keeps the license in the database.
  await write('broken again')
  await kit.startReplica()
  const after = await status()
  assert.deepEqual([after.state, after.license_id], ['active', 'lic-1'])
  assert.ok(after.problem)
})
