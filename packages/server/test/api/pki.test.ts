import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { readCrl } from '@holdfast/crypto'
import pg from 'pg'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { enroll } from '../support/actors/gateways.ts'
import { inventedSerial, ocspRequest, readOcsp } from '../support/clients/ocsp-client.ts'
import { runJob, startKit, times } from '../support/deployment/deployment.ts'
import {
  addressesIn,
  askOcsp,
  fetchPki,
  issueTo,
  pkiName,
  startPki,
  statusOf,
} from '../support/deployment/pki-listener.ts'
import { until } from '../support/deployment/wait-until.ts'

const der = (pem: string) => Buffer.from(pem.split('-----')[2]!, 'base64')

test('certificates point to what is served', async (t) => {
  const { kit, issue } = await startPki(t)
  const issued = await issue()
  const { paths, issuing } = issued

  await t.test('the list, the responder and the certificate of their issuer', async () => {
    assert.ok(addressesIn(issued.certificate).every((url) => url.startsWith(pkiName)))
    const crl = await fetchPki(kit, paths.crl)
    assert.deepEqual([crl.status, crl.headers['content-type']], [200, 'application/pkix-crl'])
    assert.deepEqual([...readCrl(crl.bytes, issuing).revoked], [])
    const ca = await fetchPki(kit, paths.issuer)
    assert.deepEqual([ca.status, ca.headers['content-type'], ca.bytes], [200, 'application/pkix-cert', der(issuing)])
    const ocsp = await askOcsp(kit, issued)
    assert.deepEqual([ocsp.status, ocsp.headers['content-type']], [200, 'application/ocsp-response'])
    assert.equal(ocsp.answers[0]?.status, 'good')
  })
  await t.test('the root has a list and a certificate, and answers nothing', async () => {
    const [anchor] = (await kit.admin.trustAnchors()).anchors
    const named = (path: string) => path.replace(/sgn_\w+/, anchor!.anchor_id)
    assert.deepEqual((await fetchPki(kit, named(paths.issuer))).bytes, der(anchor!.certificate))
    assert.ok(readCrl((await fetchPki(kit, named(paths.crl))).bytes, anchor!.certificate))
    const body = ocspRequest(anchor!.certificate, [issued.spc.serial])
    assert.equal((await fetchPki(kit, named(paths.ocsp), { method: 'POST', body })).status, 404)
  })
  await t.test('HEAD, tags and dates are as HTTP has them', async () => {
    const get = `${paths.ocsp}/${encodeURIComponent(ocspRequest(issuing, [issued.spc.serial]).toString('base64'))}`
    for (const path of [paths.crl, paths.issuer, get]) {
      const whole = await fetchPki(kit, path)
      const { etag, 'last-modified': date } = whole.headers
      assert.match(String(whole.headers['cache-control']), /^public, max-age=\d+, no-transform, must-revalidate$/)
      const head = await fetchPki(kit, path, { method: 'HEAD' })
      assert.deepEqual(
        [head.status, head.headers['content-length'], head.bytes.length],
        [200, String(whole.bytes.length), 0],
      )
      const asked = async (headers: Record<string, string>) => (await fetchPki(kit, path, { headers })).status
      assert.equal(await asked({ 'if-none-match': String(etag) }), 304)
      assert.equal(await asked({ 'if-modified-since': String(date) }), 304)
      assert.equal(await asked({ 'if-none-match': '"another"', 'if-modified-since': String(date) }), 200)
      assert.equal(await asked({ 'if-modified-since': new Date(0).toUTCString() }), 200)
    }
    assert.match(String((await fetchPki(kit, paths.crl)).headers['cache-control']), /max-age=60,/)
  })
  await t.test('a GET may leave its base64 as it is, and is answered with the same bytes as the next one', async () => {
    const base64 = ocspRequest(issuing, [issued.spc.serial]).toString('base64')
    const raw = await fetchPki(kit, `${paths.ocsp}/${base64}`)
    const escaped = await fetchPki(kit, `${paths.ocsp}/${encodeURIComponent(base64)}`)
    assert.equal(readOcsp(raw.bytes).answers[0]?.status, 'good')
    assert.deepEqual(raw.bytes, escaped.bytes)
  })
  await t.test('other methods and other paths', async () => {
    const of = async (method: string, path: string) => {
      const { status, headers } = await fetchPki(kit, path, { method })
      return [status, headers.allow]
    }
    assert.deepEqual(await of('DELETE', paths.crl), [405, 'GET, HEAD'])
    assert.deepEqual(await of('POST', paths.issuer), [405, 'GET, HEAD'])
    assert.deepEqual(await of('GET', paths.ocsp), [405, 'POST'])
    for (const path of [
      '/',
      '/healthz',
      '/v1/trust/anchors',
      '/crl',
      `${paths.crl}/`,
      `${paths.crl}?a`,
      '/crl/a/b.crl',
    ])
      assert.deepEqual(await of('GET', path), [404, undefined], path)
  })
})

test('without the listener certificates point to nothing', async (t) => {
  const kit = await startKit(t)
  const device = await enroll(kit, 'laptop')
  const { certificate } = await device.client.issueSpc({ body: { csr: await newCsr() } })
  assert.deepEqual(addressesIn(certificate), [])
  assert.equal(kit.app.listeners.pki, undefined)
})

test('OCSP says what has become of a certificate', async (t) => {
  const { kit, clock, device, issue } = await startPki(t, { replicas: 2 })
  const [here, there] = kit.replicas as [(typeof kit.replicas)[0], (typeof kit.replicas)[0]]
  const issued = await issue()

  await t.test('of twenty who ask two replicas at once each is answered, those of one with one signature', async () => {
    const got = await times(20, (i) => askOcsp(i % 2 ? here : there, issued))
    for (const { answers } of got) assert.equal(answers[0]?.status, 'good')
    assert.equal(new Set(got.map(({ bytes }) => bytes.toString('hex'))).size, 2)
  })
  await t.test('with the nonce that it is asked with, of twenty at once', async () => {
    const nonces = Array.from({ length: 20 }, () => randomBytes(32))
    const got = await times(20, (i) => askOcsp(here, issued, { nonce: nonces[i]! }))
    got.forEach(({ nonce, headers }, i) => {
      assert.deepEqual([nonce, headers['cache-control']], [nonces[i]!.toString('hex'), 'no-store'])
    })
  })
  await t.test('what was never issued is unknown, also where another tenant issued it', async () => {
    const foreign = await kit.newTenant()
    await kit.heard()
    const admin = await kit.as('tenant_admin', foreign)
    const theirs = await issueTo(await enroll(kit, 'theirs', { admin, now: clock.now }))
    assert.equal(await statusOf(here, theirs), 'good')
    const serials = [inventedSerial(), '05', theirs.spc.serial, issued.spc.serial]
    const { answers } = await askOcsp(here, issued, { serials })
    assert.deepEqual(
      answers.map((a) => [a.serial, a.status]),
      serials.map((serial, i) => [serial, i === 3 ? 'good' : 'unknown']),
    )
    const misled = await askOcsp(here, { ...issued, issuing: theirs.issuing })
    assert.equal(misled.error, 6, 'unauthorized')
  })
  await t.test('a revocation is told by every replica within a second, and listed soon after', async (t) => {
    const one = await issue()
    assert.deepEqual([await statusOf(here, one), await statusOf(there, one)], ['good', 'good'])
    await kit.admin.revokeSpc({ body: { spc_id: one.spc.spc_id, reason: 'keyCompromise' } })
    const revoked = performance.now()
    const told = await until(async () => {
      const after = performance.now() - revoked
      const status = await statusOf(there, one)
      // After that time only answers compared with the database are trusted, even on a busy machine.
      assert.ok(status === 'revoked' || after < 1000, `${status} ${after} ms after`)
      return status === 'revoked'
    })
    const { answers } = await askOcsp(here, one)
    const { revoked_at } = await kit.admin.getSpc({ params: { spc_id: one.spc.spc_id } })
    assert.equal(answers[0]?.reason, 'keyCompromise')
    assert.equal(answers[0]?.revokedAt?.getTime(), Math.floor(Date.parse(revoked_at!) / 1000) * 1000)
    await until(async () => {
      const lists = await Promise.all([here, there].map((replica) => fetchPki(replica, one.paths.crl)))
      return lists.every(({ bytes }) => readCrl(bytes, one.issuing).revoked.has(one.spc.serial))
    })
    t.diagnostic(`told after ${Math.round(told)} ms, listed after ${Math.round(performance.now() - revoked)} ms`)
  })
  await t.test('what stops a device or replaces its certificate', async () => {
    const other = await enroll(kit, 'phone', { now: clock.now })
    const [stopped, replaced] = [await issueTo(other), await issue()]
    assert.equal(await statusOf(there, stopped), 'good')
    await kit.admin.changeDevice({ body: { operation: 'suspend', device_id: other.id } })
    await until(async () => (await statusOf(there, stopped)) === 'revoked')
    assert.equal((await askOcsp(there, stopped)).answers[0]?.reason, 'cessationOfOperation')
    await device.client.rotateSpc({ body: { spc_id: replaced.spc.spc_id, csr: await newCsr() } })
    assert.equal(await statusOf(here, replaced), 'good', 'for an hour more')
    clock.advance(3601)
    const { answers } = await askOcsp(here, replaced)
    assert.deepEqual([answers[0]?.status, answers[0]?.reason], ['revoked', 'superseded'])
  })
  await t.test('what the database has lost, as when it was set back, is unknown', async () => {
    const lost = await issue()
    assert.equal(await statusOf(here, lost), 'good')
    const id = lost.spc.serial.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    await kit.db.inTenant(kit.tenant, (tx) =>
      tx.deleteFrom('spcs').where('tenant_id', '=', kit.tenant).where('spc_id', '=', id).execute(),
    )
    kit.app.changes.forget(kit.tenant)
    assert.equal(await statusOf(here, lost), 'unknown')
  })
  await t.test('nothing good is said of what has ended', async () => {
    clock.advance(24 * 3600)
    assert.equal(await statusOf(here, issued), 'unknown')
  })
})

test('who asks for what is warm, or for what is invented, costs no statement', async (t) => {
  const { kit, issue } = await startPki(t)
  const issued = await issue()
  const { paths, issuing } = issued
  const get = `${paths.ocsp}/${ocspRequest(issuing, [issued.spc.serial]).toString('base64url').replaceAll('-', '+').replaceAll('_', '/')}`
  const asked = [paths.crl, paths.issuer, get]
  // The first one has the lists issued, which the second one reads.
  for (const path of [...asked, ...asked]) assert.equal((await fetchPki(kit, path)).status, 200)
  const { query } = pg.Client.prototype
  const sent: string[] = []
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...given: Parameters<typeof query>) {
    const { text = String(given[0]) } = given[0] as { text?: string }
    // Statements of the SIEM delivery may come at any time.
    if (/\b(spcs|crls|signing_keys|trust_sets|tenants)\b/.test(text) && !text.includes('siem_streams')) sent.push(text)
    return query.apply(this, given)
  })
  for (const path of asked) for (let n = 0; n < 20; n++) assert.equal((await fetchPki(kit, path)).status, 200)
  const invented = () => {
    const id = (prefix: string) => `${prefix}_0${randomBytes(20).toString('hex').slice(0, 25)}`
    return [id('tnt'), id('sgn')] as const
  }
  for (let n = 0; n < 50; n++) {
    const [tenant, signer] = invented()
    const own = paths.crl.split('/')[2]
    for (const path of [`/crl/${tenant}/${signer}.crl`, `/ca/${own}/${signer}.cer`, `/ocsp/${tenant}/${signer}/MAA=`])
      assert.equal((await fetchPki(kit, path)).status, 404)
  }
  assert.deepEqual(sent, [])
  await askOcsp(kit, issued, { serials: [inventedSerial()] })
  assert.equal(sent.length, 1, 'what is looked for is seen here')
})

test('what is served follows a rotation', async (t) => {
  const { kit, issue } = await startPki(t)
  const before = await issue()
  await kit.admin.rotateTrustAnchors({ body: {} })
  const after = await issue()
  assert.notEqual(after.paths.ocsp, before.paths.ocsp)
  for (const issued of [before, after]) assert.equal(await statusOf(kit, issued), 'good')
  const { answers } = await askOcsp(kit, after, { serials: [before.spc.serial] })
  assert.equal(answers[0]?.status, 'unknown', 'the other authority issued it')
  const { anchor_id } = (await kit.admin.trustAnchors()).anchors[0]!
  await runJob(kit.app, 'issue_crls')
  await kit.admin.rotateTrustAnchors({ body: { mode: 'emergency', anchor_id } })
  for (const { paths } of [before, after])
    for (const path of [paths.crl, paths.issuer]) assert.equal((await fetchPki(kit, path)).status, 404)
  assert.equal(await statusOf(kit, await issue()), 'good')
})
