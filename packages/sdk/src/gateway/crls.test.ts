import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { createKeyAndRequest, readSpc } from '@holdfast/crypto'
import { type Authorities, createAuthorities } from '../../test/support/authorities.ts'
import { createIssuer, makeKey } from '../../test/support/issuer.ts'
import { type Answered, startServer } from '../../test/support/scripted-server.ts'
import { type Gateway, openGateway, VerificationError } from '../index.ts'
import type { GatewayCrls } from './crls.ts'

const refuses = (code: string) => ({ name: 'VerificationError', code })
type Lists = Awaited<ReturnType<Authorities['rootList']>>[]

async function startControl(t: TestContext) {
  const clock = { now: new Date('2030-01-01T00:00:00Z') }
  const issuer = createIssuer({ now: () => clock.now })
  const authorities = await createAuthorities({ tenantId: issuer.tenantId, now: () => clock.now })
  const waiting = new Set<() => void>()
  const control = {
    clock,
    issuer,
    authorities,
    trust: await issuer.trustSet(authorities.inSet()),
    crls: [await authorities.rootList(), await authorities.issuingList()] as Lists,
    texts: new Map<string, string>(),
    /** Sets the next answer, which waiting requests get at once. */
    say: (crls: Lists) => {
      control.crls = crls
      for (const answer of waiting) answer()
      waiting.clear()
    },
  }
  const server = await startServer(t, async ({ path, headers }): Promise<Answered> => {
    if (path.endsWith('/unified-policy')) return { body: { policy: await issuer.gatewayPolicy(), poll_seconds: 1 } }
    const tag = () => `"${control.trust.version}.${control.crls.map(({ number }) => number).join('.')}"`
    if (headers['if-none-match'] === tag()) await new Promise<void>((resolve) => waiting.add(resolve))
    return { headers: { etag: tag() }, body: { ...control.trust, crls: control.crls } }
  })
  const errors: unknown[] = []
  const open = () =>
    openGateway({
      baseUrl: server.baseUrl,
      secret: 'hfg_x',
      gatewayId: 'gwy_a',
      tenantId: issuer.tenantId,
      now: () => clock.now,
      random: () => 0,
      onStoreError: (e) => void errors.push(e),
      store: {
        load: async (name) => control.texts.get(name),
        save: async (name, text) => void (text === null ? control.texts.delete(name) : control.texts.set(name, text)),
        list: async () => [...control.texts.keys()],
      },
    })
  const issue = async (options?: Parameters<Authorities['issue']>[1]) =>
    (await authorities.issue((await createKeyAndRequest('test')).csr, options)).pem
  const asks = () => server.asked.filter(({ path }) => path.endsWith('/trust-anchors'))
  return Object.assign(control, { open, issue, errors, asks })
}
/** Returns the code of the first error in following the lists. */
async function firstError(gateway: Gateway): Promise<unknown> {
  const stop = new AbortController()
  const seen = Promise.withResolvers<unknown>()
  const onError = (e: unknown) => seen.resolve(e instanceof VerificationError ? e.code : e)
  const running = gateway.runPulling({ signal: stop.signal, onChange: () => {}, onCrls: () => {}, onError })
  const found = await seen.promise
  stop.abort()
  await running
  return found
}
const serialOf = (certificate: string) => readSpc(certificate).serial

test('a device certificate is judged by what is held: good, and each refusal by its name', async (t) => {
  const control = await startControl(t)
  const { authorities, clock, issue } = control
  const gateway = control.open()
  const certificate = await issue()
  assert.throws(() => gateway.checkSpc(certificate), refuses('trust_expired'), 'before anything is held')
  await gateway.refreshTrust()
  const asked = control.asks().length
  const { deviceId, serial, until } = gateway.checkSpc(certificate)
  assert.deepEqual([deviceId, serial], ['dev_1', serialOf(certificate)])
  assert.equal(until.toISOString(), '2030-01-02T00:00:00.000Z')

  const theirs = await createAuthorities({ tenantId: 'tnt_b', now: () => clock.now })
  const stranger = await createAuthorities({ tenantId: control.issuer.tenantId, now: () => clock.now })
  const { csr } = await createKeyAndRequest('test')
  const bent = Buffer.from(new X509Certificate(certificate).raw)
  bent[bent.length - 4]! ^= 1
  for (const [shown, code] of [
    [(await theirs.issue(csr)).pem, 'wrong_tenant'],
    [(await stranger.issue(csr)).pem, 'wrong_issuer'],
    [bent, 'bad_signature'],
    [authorities.issuing, 'malformed'],
    ['no certificate', 'malformed'],
  ] as const)
    assert.throws(() => gateway.checkSpc(shown), refuses(code), code)
  clock.now = new Date('2030-01-02T00:00:01Z')
  assert.throws(() => gateway.checkSpc(certificate), refuses('expired'))
  const younger = await issue()
  assert.throws(() => gateway.checkSpc(younger), refuses('crl_expired'))
  clock.now = new Date('2029-12-31T23:00:00Z')
  assert.throws(() => gateway.checkSpc(certificate), refuses('not_yet_valid'))
  clock.now = new Date('2030-01-09T00:00:00Z')
  assert.throws(() => gateway.checkSpc(certificate), refuses('trust_expired'))
  assert.equal(control.asks().length, asked, 'nobody was asked')
})

test('what an authority on the way has revoked is revoked: the certificate, or who issued it', async (t) => {
  const control = await startControl(t)
  const { authorities } = control
  const [one, other] = [await control.issue(), await control.issue()]
  const gateway = control.open()
  await gateway.refreshTrust()
  control.crls[1] = await authorities.issuingList(2, [serialOf(one)])
  await gateway.refreshTrust()
  assert.throws(() => gateway.checkSpc(one), refuses('revoked'))
  assert.equal(gateway.checkSpc(other).deviceId, 'dev_1')
  control.crls[0] = await authorities.rootList(2, [authorities.issuingSerial])
  await gateway.refreshTrust()
  assert.throws(() => gateway.checkSpc(other), refuses('revoked'))
})

test('without the list of an authority on the way nothing is good', async (t) => {
  const control = await startControl(t)
  const [root] = control.crls
  control.crls = [root!]
  const gateway = control.open()
  await gateway.refreshTrust()
  const certificate = await control.issue()
  assert.throws(() => gateway.checkSpc(certificate), refuses('no_crl'))
})

test('an anchor that is distrusted is none, and its lists are dropped', async (t) => {
  const control = await startControl(t)
  const gateway = control.open()
  await gateway.refreshTrust()
  const certificate = await control.issue()
  control.trust = await control.issuer.trustSet({
    version: 2,
    anchors: control.authorities.inSet('distrusted').anchors,
  })
  await gateway.refreshTrust()
  assert.throws(() => gateway.checkSpc(certificate), refuses('wrong_issuer'))
  assert.equal(gateway.crls, null)
})

test('a revocation arrives while the request is held, and the agent gets all lists in one text', {
  timeout: 20_000,
}, async (t) => {
  const control = await startControl(t)
  const certificate = await control.issue()
  const gateway = control.open()
  const stop = new AbortController()
  const told: (GatewayCrls | null)[] = []
  const errors: unknown[] = []
  const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isFirst = true
  const running = gateway.runPulling({
    signal: stop.signal,
    onChange: () => {},
    onError: (e) => void errors.push(e),
    onCrls: (crls) => {
      if (isFirst) {
        isFirst = false
        throw new Error('the disk is full')
      }
      steps[told.push(crls) - 1]?.resolve()
    },
  })
  await steps[0]!.promise
  assert.match(String(errors[0]), /disk is full/, 'told again where it failed')
  assert.equal(told[0]?.pem.match(/-----BEGIN X509 CRL-----/g)?.length, 2)
  assert.equal(told[0]?.authorities, control.authorities.root + control.authorities.issuing)
  control.say([control.crls[0]!, await control.authorities.issuingList(2, [serialOf(certificate)])])
  await steps[1]!.promise
  assert.deepEqual(
    told[1]?.lists.map(({ number }) => number),
    [1n, 2n],
  )
  assert.throws(() => gateway.checkSpc(certificate), refuses('revoked'))
  stop.abort()
  await running
})

test('a list that is older, another of the same number, of nobody, or bent is refused; the others are taken', async (t) => {
  const control = await startControl(t)
  const { authorities, clock } = control
  const certificate = await control.issue()
  control.crls = [await authorities.rootList(5), await authorities.issuingList(5, [serialOf(certificate)])]
  const gateway = control.open()
  await gateway.refreshTrust()
  const stranger = await createAuthorities({ tenantId: control.issuer.tenantId, now: () => clock.now })
  const bent = await authorities.issuingList(9)
  const bytes = Buffer.from(bent.der, 'base64')
  bytes[bytes.length - 4]! ^= 1
  bent.der = bytes.toString('base64')
  const strangers = { ...(await stranger.issuingList(9)), issuer: control.crls[1]!.issuer }
  let number = 5
  for (const [list, code] of [
    [await authorities.issuingList(4), 'rollback'],
    [await authorities.issuingList(5), 'rollback'],
    [bent, 'bad_signature'],
    [strangers, 'wrong_issuer'],
    [{ ...bent, der: 'AAAA' }, 'malformed'],
    [{ ...bent, der: (await authorities.rootList(9)).der }, 'wrong_issuer'],
  ] as const) {
    control.crls = [await authorities.rootList(++number), list]
    await gateway.refreshTrust()
    assert.throws(() => gateway.checkSpc(certificate), refuses('revoked'), code)
    assert.deepEqual(
      gateway.crls?.lists.map((held) => held.number),
      [BigInt(number), 5n],
      code,
    )
    // An older list may come from a replica that lags, and is tolerated for a while.
    if (code !== 'rollback') assert.equal(await firstError(gateway), code)
  }
  control.crls = [control.crls[0]!, await authorities.issuingList(6, [], 0.001)]
  clock.now = new Date(clock.now.getTime() + 60_000)
  await gateway.refreshTrust()
  assert.throws(() => gateway.checkSpc(certificate), refuses('revoked'), 'one that has ended is not taken')
  control.crls = [await stranger.rootList(1), ...control.crls.slice(0, 1)]
  await gateway.refreshTrust()
  assert.equal(gateway.crls?.lists.length, 2, 'one of nobody is passed over, one that is missing is kept')
})

test('an authority that can not be read closes no way, and takes no list from the others', async (t) => {
  const control = await startControl(t)
  const known = control.authorities.inSet()
  const newer = '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n'
  control.trust = await control.issuer.trustSet({ ...known, intermediates: [newer, ...known.intermediates] })
  const gateway = control.open()
  await gateway.refreshTrust()
  assert.equal(gateway.crls?.lists.length, 2)
  assert.equal(gateway.checkSpc(await control.issue()).deviceId, 'dev_1')
})

test('a restart goes on with the lists, and none may be older than they', async (t) => {
  const control = await startControl(t)
  const certificate = await control.issue()
  control.crls[1] = await control.authorities.issuingList(7, [serialOf(certificate)])
  await control.open().refreshTrust()
  const again = control.open()
  await again.restore()
  assert.throws(() => again.checkSpc(certificate), refuses('revoked'))
  control.crls[1] = await control.authorities.issuingList(6)
  await again.refreshTrust()
  assert.throws(() => again.checkSpc(certificate), refuses('revoked'))

  for (const text of ['{}', 'x', control.texts.get('crls')!.replace(/"der":"..../, '"der":"AAAA')]) {
    control.texts.set('crls', text)
    control.errors.length = 0
    const bent = control.open()
    await bent.restore()
    assert.equal(control.errors.length, 1, 'it is told')
  }
})

test('the end of a list is told: from then on nobody can say who is revoked', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  control.crls[1] = await control.authorities.issuingList(1, [], 1)
  const gateway = control.open()
  const stop = new AbortController()
  const [first, second] = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()]
  const running = gateway.runPulling({
    signal: stop.signal,
    onChange: () => {},
    onCrls: (crls) => (crls ? first.resolve(crls) : second.resolve(crls)),
  })
  await first.promise
  control.clock.now = new Date('2030-01-01T01:00:00Z')
  control.say(control.crls)
  assert.equal(await second.promise, null)
  stop.abort()
  await running
})

test('a set that no trusted key signed is pinned when that is asked for, and never else', async (t) => {
  const control = await startControl(t)
  const gateway = control.open()
  await gateway.refreshTrust()
  const key = makeKey('trust-set')
  const others = await createAuthorities({ tenantId: control.issuer.tenantId, now: () => control.clock.now })
  control.trust = await control.issuer.trustSet({
    version: 2,
    published: [key, control.issuer.keys.gateway],
    signedBy: [key],
    ...others.inSet(),
  })
  control.crls = [await others.rootList(), await others.issuingList()]
  await assert.rejects(gateway.refreshTrust(), refuses('unknown_key'))
  assert.equal(gateway.trust?.version, 1)
  await gateway.repinTrustOverTls()
  assert.equal(gateway.trust?.version, 2)
  const { csr } = await createKeyAndRequest('test')
  assert.equal(gateway.checkSpc((await others.issue(csr)).pem).deviceId, 'dev_1')
})
