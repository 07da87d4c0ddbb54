import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { generateKey, softwareSigner } from '@holdfast/crypto'
import { type Authorities, createAuthorities } from '../../test/support/authorities.ts'
import { startControl as startDeviceControl } from '../../test/support/device-control-plane.ts'
import { makeKey } from '../../test/support/issuer.ts'
import type { Answered, Asked } from '../../test/support/scripted-server.ts'
import { type DeviceCertificate, type DeviceOptions, type DeviceState, openDevice } from '../index.ts'

const refuses = (code: string) => ({ name: 'VerificationError', code })
const hour = 3_600_000
const refusal: Answered = { status: 422, body: { error: 'validation_error', detail: 'no', request_id: 'r' } }

async function startControl(t: TestContext, options: DeviceOptions = {}) {
  const control = await startDeviceControl(t)
  const authorities = await createAuthorities({ tenantId: control.issuer.tenantId, now: () => control.clock.now })
  control.trust = await control.issuer.trustSet(authorities.inSet())
  const issued = {
    by: authorities,
    deviceId: 'dev_1',
    count: 0,
    version: 1,
    isValid: true,
    refuse: 0,
    replays: new Map<unknown, Answered>(),
  }
  const issue = async ({ headers, body }: Asked): Promise<Answered> => {
    if (issued.refuse > 0) {
      issued.refuse--
      return refusal
    }
    const key = headers['idempotency-key']
    const before = issued.replays.get(key)
    if (before) return before
    const { pem } = await issued.by.issue((body as { csr: string }).csr, { deviceId: issued.deviceId })
    const spc = { spc_id: `spc_${++issued.count}`, renew_after: later(16) }
    const answer = { body: { spc, certificate: pem, chain: [issued.by.issuing], trust_anchor_version: issued.version } }
    issued.replays.set(key, answer)
    return answer
  }
  const later = (hours: number) => new Date(control.clock.now.getTime() + hours * hour).toISOString()
  control.instead['/v1/spc/issue'] = issue
  control.instead['/v1/spc/rotate'] = issue
  control.instead['/v1/spc/validate'] = () => ({ body: { valid: issued.isValid } })
  const device = await control.enrollNow(options)
  const pass = (hours: number) => {
    control.clock.now = new Date(control.clock.now.getTime() + hours * hour)
  }
  const last = (): DeviceState => control.saved.at(-1)!
  const bodies = (path: string) => control.asks(path).map(({ body }) => body as Record<string, unknown>)
  const reopen = (state = last()) => openDevice(state, { now: () => control.clock.now, random: () => 0, ...options })
  return { control, authorities, issued, device, pass, last, bodies, reopen }
}
const keyOf = ({ certificate }: DeviceCertificate) => new X509Certificate(certificate).publicKey

test('a certificate for a key made here is verified, kept with its key, and there again after a restart', async (t) => {
  const { device, last, reopen } = await startControl(t)
  assert.equal(device.certificate, null)
  assert.ok(device.isCertificateDue)
  const made = await device.renewCertificate()
  assert.deepEqual(device.certificate, made)
  assert.ok(keyOf(made).equals(createPublicKey(createPrivateKey(made.privateKey!))))
  assert.equal(made.expiresAt.toISOString(), '2030-01-02T00:00:00.000Z')
  assert.equal(last().certificate?.privateKey, made.privateKey)
  assert.equal(last().certificateRequest, null)
  assert.deepEqual(reopen().certificate, made)
  assert.equal(reopen().isCertificateDue, false)
})
test('a state of before there were certificates opens and gets one', async (t) => {
  const { last, reopen } = await startControl(t)
  const { certificate: _, certificateRequest: __, ...old } = last()
  const device = reopen(old)
  assert.equal(device.certificate, null)
  assert.equal((await device.renewCertificate()).spcId, 'spc_1')
})

test('another one comes in its place, for another key; calls at the same time share one', async (t) => {
  const { device, pass, bodies } = await startControl(t)
  const first = await device.renewCertificate()
  pass(15)
  assert.equal(device.isCertificateDue, false)
  pass(1)
  assert.ok(device.isCertificateDue)
  const [second, same] = await Promise.all([device.renewCertificate(), device.renewCertificate()])
  assert.equal(second, same)
  assert.ok(!keyOf(second).equals(keyOf(first)))
  assert.deepEqual(
    bodies('/v1/spc/rotate').map(({ spc_id }) => spc_id),
    ['spc_1'],
  )
  assert.equal(device.certificate?.spcId, 'spc_2')
  pass(24)
  assert.equal(device.certificate, null, 'it has ended')
})

test('an answer that is lost is asked for again with the same request, also by the next process', async (t) => {
  const { control, device, reopen, bodies, issued } = await startControl(t)
  control.loseAnswers = 1
  await assert.rejects(device.renewCertificate(), { name: 'ConnectionError' })
  control.loseAnswers = 1
  await assert.rejects(reopen().renewCertificate(), { name: 'ConnectionError' })
  assert.equal((await reopen().renewCertificate()).spcId, 'spc_1')
  assert.equal(issued.count, 1)
  assert.equal(new Set(bodies('/v1/spc/issue').map(({ csr }) => csr)).size, 1)
})

test('what can not be rotated any more is issued anew; what is refused then is told', async (t) => {
  const { device, issued, bodies, last } = await startControl(t)
  await device.renewCertificate()
  issued.refuse = 1
  assert.equal((await device.renewCertificate()).spcId, 'spc_2')
  assert.equal(bodies('/v1/spc/issue').length, 2)
  issued.refuse = 2
  await assert.rejects(device.renewCertificate(), { name: 'ApiError', status: 422 })
  assert.equal(last().certificateRequest, null)
  assert.equal(device.certificate?.spcId, 'spc_2')
})

test('what is not ours is refused by name, and the one before stays in use', async (t) => {
  const { control, authorities, device, issued, last } = await startControl(t)
  const good = await device.renewCertificate()
  const { now } = control.clock
  const theirs = await createAuthorities({ tenantId: 'tnt_b', now: () => now })
  const strangers = await createAuthorities({ tenantId: control.issuer.tenantId, now: () => now })
  const otherKey: Authorities['issue'] = async () => ({ pem: good.certificate, der: Buffer.alloc(0) })
  for (const [change, code] of [
    [{ by: theirs }, 'wrong_tenant'],
    [{ by: strangers }, 'wrong_issuer'],
    [{ deviceId: 'dev_2' }, 'wrong_binding'],
    [{ by: { ...authorities, issue: otherKey } }, 'wrong_binding'],
    [{ by: { ...authorities, issue: async () => ({ pem: 'nothing', der: Buffer.alloc(0) }) } }, 'malformed'],
  ] as const) {
    Object.assign(issued, { by: authorities, deviceId: 'dev_1' }, change)
    await assert.rejects(device.renewCertificate(), refuses(code), code)
    assert.equal(device.certificate, good)
    assert.equal(last().certificateRequest, null)
  }
})

test('a certificate under an anchor of a younger trust set is judged by that', async (t) => {
  const { control, device, issued } = await startControl(t)
  const next = await createAuthorities({ tenantId: control.issuer.tenantId, now: () => control.clock.now })
  control.trust = await control.issuer.trustSet({ version: 2, ...next.inSet() })
  Object.assign(issued, { by: next, version: 2 })
  assert.equal((await device.renewCertificate()).spcId, 'spc_1')
  assert.equal(device.state.trust.version, 2)
})

test('where a trust set no longer knows its anchor another one is due', async (t) => {
  const { control, device, issued } = await startControl(t)
  await device.renewCertificate()
  const next = await createAuthorities({ tenantId: control.issuer.tenantId, now: () => control.clock.now })
  control.trust = await control.issuer.trustSet({ version: 2, ...next.inSet() })
  assert.equal(device.isCertificateDue, false)
  await device.refreshTrust()
  assert.ok(device.isCertificateDue)
  issued.by = next
  await device.renewCertificate()
  assert.equal(device.isCertificateDue, false)
})

test('a certificate that was kept and altered is none', async (t) => {
  const { device, last, reopen } = await startControl(t)
  const { certificate } = await device.renewCertificate()
  const bent = Buffer.from(new X509Certificate(certificate).raw)
  bent[bent.length - 4]! ^= 1
  const pem = `-----BEGIN CERTIFICATE-----\n${bent.toString('base64')}\n-----END CERTIFICATE-----\n`
  for (const change of [{ certificate: pem }, { publicJwk: generateKey('ES256').publicJwk }]) {
    const state = last()
    assert.equal(reopen({ ...state, certificate: { ...state.certificate!, ...change } }).certificate, null)
  }
})

test("keys of the caller's own are certified, each once, and are in no state", async (t) => {
  const made: string[] = []
  const newCertificateKey = () => {
    const { privateJwk, kid } = generateKey('ES384')
    made.push(kid)
    return softwareSigner('credential', privateJwk)
  }
  const { device, last } = await startControl(t, { newCertificateKey })
  const one = await device.renewCertificate()
  assert.deepEqual([one.privateKey, one.publicJwk.crv, last().certificate?.privateKey], [null, 'P-384', null])
  const own = softwareSigner('credential', generateKey('Ed25519').privateJwk)
  const two = await device.renewCertificate({ newKey: own })
  assert.equal(keyOf(two).asymmetricKeyType, 'ed25519')
  assert.equal(made.length, 1)
})

test('polling keeps one in use: the first, those that are due, and one anew after a suspension or a revocation', {
  timeout: 30_000,
}, async (t) => {
  const { control, device, issued, pass } = await startControl(t)
  control.content = { ...control.content, settings: { poll_seconds: 1 } }
  const told: (string | null)[] = []
  const waiting: { count: number; done: () => void }[] = []
  const until = (count: number) =>
    new Promise<void>((done) => (told.length >= count ? done() : waiting.push({ count, done })))
  const onCertificate = (certificate: DeviceCertificate | null) => {
    told.push(certificate?.spcId ?? null)
    for (const { count, done } of waiting) if (told.length >= count) done()
  }
  const statuses: string[] = []
  const run = async (work: () => Promise<void>) => {
    const stop = new AbortController()
    const running = device.runPolling({
      signal: stop.signal,
      onPolicy: () => {},
      onCertificate,
      slow: 0.05,
      wait: 0,
      onStatus: ({ status }) => {
        statuses.push(status)
        if (status === 'suspended') control.standing = 'active'
      },
    })
    await work()
    stop.abort()
    await running
  }
  control.standing = 'pending'
  await run(async () => {
    while (statuses.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    assert.equal(control.asks('/v1/spc/issue').length, 0, 'a device that waits for approval asks for none')
    control.standing = 'active'
    await until(1)
    control.standing = 'suspended'
    await until(2)
  })
  pass(17)
  await run(() => until(4))
  issued.isValid = false
  await run(() => until(6))
  assert.deepEqual(told, ['spc_1', 'spc_2', 'spc_2', 'spc_3', 'spc_3', 'spc_4'])
})

test('a set that no trusted key signed is pinned when that is asked for, and over TLS only', async (t) => {
  const { control, device, last, reopen } = await startControl(t)
  const key = makeKey('trust-set')
  control.trust = await control.issuer.trustSet({ version: 2, published: [key], signedBy: [key] })
  await assert.rejects(device.refreshTrust(), refuses('unknown_key'))
  const plain = reopen({ ...last(), baseUrl: 'http://control.example' })
  await assert.rejects(plain.repinTrustOverTls(), TypeError)
  await device.repinTrustOverTls()
  assert.deepEqual([device.state.trust.version, last().trust.version], [2, 2])
  control.trust = await control.issuer.trustSet({ version: 3, tenant_id: 'tnt_b', published: [key], signedBy: [key] })
  await assert.rejects(device.repinTrustOverTls(), refuses('wrong_tenant'))
  assert.equal(device.state.trust.version, 2)
})
