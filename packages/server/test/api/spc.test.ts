import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { certificateInfo, generateKey, readCrl, readSpc, verifyChain } from '@holdfast/crypto'
import { csrFor, newCsr } from '../support/actors/certificate-requests.ts'
import { audited, enroll, publish, refused, rule, withGateway } from '../support/actors/gateways.ts'
import { makeUser } from '../support/actors/people.ts'
import { createClock, type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

type Clock = ReturnType<typeof createClock>
const invalid = refused(422)

test('a device has its key certified', async (t) => {
  const kit = await startKit(t)
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop')
  const { spc, certificate, chain, trust_anchor_version } = await device.client.issueSpc({
    body: { csr: await newCsr() },
  })

  await t.test('under the anchors of its tenant, for a day, with what it is under', async () => {
    const set = await kit.admin.trustAnchors()
    assert.equal(set.version, trust_anchor_version)
    const anchors = set.anchors.map((a) => a.certificate)
    verifyChain(certificate, { intermediates: chain, anchors, at: new Date() })
    const read = readSpc(certificate)
    assert.equal(read.deviceId, device.id)
    assert.equal(read.serial, spc.serial)
    assert.equal(read.spiffeId, spc.spiffe_id)
    assert.equal(spc.spiffe_id, `spiffe://holdfast.test/tenant/${set.tenant_id}/device/${device.id}`)
    assert.equal(read.fingerprintSha256, spc.fingerprint_sha256)
    const { digest, version } = await device.client.policyDigest()
    assert.deepEqual([spc.policy?.digest, spc.policy?.version], [digest, version])
    assert.equal(`sha256:${read.policy?.digest}`, digest)
    assert.equal(Date.parse(spc.not_after) - Date.parse(spc.not_before), 86_400_000 + 300_000)
  })
  await t.test('an administrator does it for a device, sees it and finds it', async () => {
    const made = await kit.admin.issueSpc({ body: { csr: await newCsr('ES384'), device_id: device.id } })
    const one = await kit.admin.getSpc({ params: { spc_id: made.spc.spc_id } })
    assert.equal(one.certificate, made.certificate)
    assert.equal(certificateInfo(one.certificate).serial, one.serial)
    const list = await kit.admin.listSpcs({ query: { device_id: device.id, status: 'active', sort: 'issued_at' } })
    assert.deepEqual(
      list.items.map((s) => s.spc_id),
      [spc.spc_id, made.spc.spc_id],
    )
    assert.equal((await audited(kit, 'spc.issued')).length, 2)
  })
  await t.test("a key has one certificate, and is nobody else's", async () => {
    const key = generateKey('ES256')
    const csr = await csrFor(key.privateJwk)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => device.client.issueSpc({ body: { csr } })),
    )
    assert.equal(outcomes.filter((o) => o.status === 'fulfilled').length, 1)
    for (const o of outcomes) if (o.status === 'rejected') invalid(o.reason)
    const other = await enroll(kit, 'phone')
    await assert.rejects(other.client.issueSpc({ body: { csr } }), refused(422, /csr/))
  })
  await t.test('a device asks for itself; nobody asks for what is not there', async () => {
    const other = await enroll(kit, 'tablet')
    const csr = await newCsr()
    await assert.rejects(other.client.issueSpc({ body: { csr, device_id: device.id } }), refused(403))
    await assert.rejects(kit.admin.issueSpc({ body: { csr } }), refused(422, /device_id/))
    const foreign = await kit.as('tenant_admin', await kit.newTenant())
    await assert.rejects(foreign.issueSpc({ body: { csr, device_id: device.id } }), refused(404))
    await assert.rejects(other.client.rotateSpc({ body: { spc_id: spc.spc_id, csr } }), refused(404))
    await assert.rejects(other.client.revokeSpc({ body: { spc_id: spc.spc_id } }), refused(404))
  })
  await t.test('what is no request for a usable key is refused by name', async () => {
    const good = await newCsr()
    const bent = Buffer.from(good.split('-----')[2]!, 'base64')
    bent[bent.length - 3]! ^= 1
    for (const csr of ['not a request', bent.toString('base64'), good + good, certificate])
      await assert.rejects(device.client.issueSpc({ body: { csr } }), refused(422, /csr/))
    await assert.rejects(device.client.issueSpc({ body: { csr: 'A'.repeat(16_385) } }), refused(422, /csr/))
  })
  await t.test('a device has ten that count', async () => {
    const full = await enroll(kit, 'server')
    const csrs = await times(20, () => newCsr())
    const outcomes = await Promise.allSettled(csrs.map((csr) => full.client.issueSpc({ body: { csr } })))
    assert.equal(outcomes.filter((o) => o.status === 'fulfilled').length, 10)
  })

  const { client: gateway } = await withGateway(kit)
  const judge = (body: { certificate: string; at?: string }) => gateway.validateSpc({ body })

  await t.test('an SPC is judged good, PEM or DER, with what it says', async () => {
    const der = certificate.split('-----')[2]!.replaceAll('\n', '')
    for (const text of [certificate, der]) {
      const verdict = await judge({ certificate: text })
      assert.deepEqual([verdict.valid, verdict.status, verdict.reasons], [true, 'good', []])
      assert.equal(verdict.spc?.spc_id, spc.spc_id)
      assert.equal(verdict.policy?.match, true)
    }
    await publish(kit, [rule('other', { any: true })])
    assert.equal((await judge({ certificate })).policy?.match, false)
  })
  await t.test('an SPC is judged by its time, to the second', async () => {
    const end = Date.parse(spc.not_after)
    const at = async (ms: number) => (await judge({ certificate, at: new Date(ms).toISOString() })).status
    assert.deepEqual([await at(end - 1), await at(end)], ['good', 'expired'])
    assert.equal(await at(Date.parse(spc.not_before) - 1), 'not_yet_valid')
  })
  await t.test('of another tenant or of nobody: the same answer', async () => {
    const foreign = await kit.as('tenant_admin', await kit.newTenant())
    const theirs = await foreign.validateSpc({ body: { certificate } })
    const [anchor] = (await kit.admin.trustAnchors()).anchors
    const nobodys = await judge({ certificate: anchor!.certificate })
    for (const verdict of [theirs, nobodys])
      assert.deepEqual(
        { ...verdict, checked_at: '' },
        {
          valid: false,
          status: 'unknown_issuer',
          reasons: ['no authority of this tenant issued it'],
          spc: null,
          policy: null,
          checked_at: '',
        },
      )
    const bent = Buffer.from(certificate.split('-----')[2]!, 'base64')
    bent[bent.length - 5]! ^= 1
    assert.equal((await judge({ certificate: bent.toString('base64') })).status, 'unknown_issuer')
    await assert.rejects(judge({ certificate: 'not a certificate' }), refused(422, /certificate/))
  })
})

test('an SPC comes to its end', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await publish(kit, [rule('all', { any: true })])
  await t.test('revocation lists are documents of their own', (t) => listed(t, kit, clock))
  await t.test('an SPC is rotated, and revoked', (t) => rotated(t, kit, clock))
})

async function listed(t: TestContext, kit: Kit, clock: Clock): Promise<void> {
  const device = await enroll(kit, 'laptop', { now: clock.now })
  const { secret } = await withGateway(kit)
  const gateway = kit.clientFor(secret)
  const before = await gateway.gatewayTrustAnchors()
  const issuers = [...before.anchors.map((a) => a.certificate), ...before.intermediates]
  const revokedIn = (set: typeof before) =>
    set.crls.flatMap((crl) => {
      const by = issuers.find((c) => certificateInfo(c).subject === crl.issuer)!
      return [...readCrl(Buffer.from(crl.der, 'base64'), by).revoked].map(([serial, { reason }]) => [serial, reason])
    })
  assert.equal(before.crls.length, 2)
  const aMinuteBehind = new Date(clock.now().getTime() - 60_000)
  assert.ok(before.crls.every((crl) => new Date(crl.this_update) < aMinuteBehind))
  assert.deepEqual(revokedIn(before), [])
  const { spc } = await device.client.issueSpc({ body: { csr: await newCsr() } })

  await t.test('a revocation makes another list, and nothing else', async () => {
    const { seq } = await kit.clientFor(secret).unifiedPolicy({ query: {} })
    await kit
      .clientFor(kit.adminKey, kit.replicas[1]!)
      .revokeSpc({ body: { spc_id: spc.spc_id, reason: 'keyCompromise' } })
    let after = before
    await until(async () => {
      after = await gateway.gatewayTrustAnchors()
      return after.crls.some((c) => c.number > 1)
    })
    assert.deepEqual(revokedIn(after), [[spc.serial, 'keyCompromise']])
    const valid = after.crls.map(({ this_update }) => clock.now().getTime() - Date.parse(this_update))
    assert.ok(Math.min(...valid) >= 300_000, 'a gateway whose clock is slow takes it at once')
    assert.deepEqual(after.signed, before.signed)
    const delta = await kit.clientFor(secret).unifiedPolicy({ query: { since: seq } })
    assert.equal(delta.kind, 'delta')
  })
  await t.test('what has ended is listed no more', async () => {
    clock.advance(26 * 3600)
    await runJob(kit.app, 'issue_crls')
    const later = await gateway.gatewayTrustAnchors()
    assert.deepEqual(revokedIn(later), [])
    assert.ok(later.crls.every((c) => new Date(c.next_update) > clock.now()))
  })
}

async function rotated(t: TestContext, kit: Kit, clock: Clock): Promise<void> {
  const device = await enroll(kit, 'laptop', { now: clock.now })
  const [here, there] = [kit.admin, kit.clientFor(kit.adminKey, kit.replicas[1]!)]
  const first = await device.client.issueSpc({ body: { csr: await newCsr() } })
  const statusOf = async (certificate: string, client = there) =>
    (await client.validateSpc({ body: { certificate } })).status

  await t.test('of twenty rotations one is made; the old one is good for an hour more', async () => {
    const csrs = await times(20, () => newCsr())
    const outcomes = await Promise.allSettled(
      csrs.map((csr) => device.client.rotateSpc({ body: { spc_id: first.spc.spc_id, csr } })),
    )
    const made = outcomes.flatMap((o) => (o.status === 'fulfilled' ? [o.value] : []))
    assert.equal(made.length, 1)
    assert.equal(made[0]!.spc.replaces, first.spc.spc_id)
    assert.equal(await statusOf(first.certificate), 'superseded')
    assert.equal(await statusOf(made[0]!.certificate), 'good')
    clock.advance(3601)
    assert.equal(await statusOf(first.certificate), 'revoked')
    await runJob(kit.app, 'end_superseded_spcs')
    const { status, revocation_reason } = await here.getSpc({ params: { spc_id: first.spc.spc_id } })
    assert.deepEqual([status, revocation_reason], ['revoked', 'superseded'])
  })
  await t.test('the same key is no rotation', async () => {
    const csr = await newCsr()
    const { spc } = await device.client.issueSpc({ body: { csr } })
    await assert.rejects(device.client.rotateSpc({ body: { serial: spc.serial, csr } }), refused(422, /csr/))
    assert.equal((await here.getSpc({ params: { spc_id: spc.spc_id } })).status, 'active')
  })
  await t.test('twenty revoke one: it is revoked once, on record once, and at once everywhere', async () => {
    const { spc, certificate } = await device.client.issueSpc({ body: { csr: await newCsr() } })
    assert.equal(await statusOf(certificate), 'good')
    const changed = await times(20, () => here.revokeSpc({ body: { spc_id: spc.spc_id, reason: 'keyCompromise' } }))
    assert.equal(changed.filter((c) => c.changed).length, 1)
    const events = (await audited(kit, 'spc.revoked')).filter((e) => e.target?.id === spc.spc_id)
    assert.equal(events.length, 1)
    assert.deepEqual([await statusOf(certificate, here), await statusOf(certificate)], ['revoked', 'revoked'])
  })
  await t.test('what stops the device or its user ends its certificates for good', async () => {
    // By `modules/offboarding`; api/offboarding.test.ts walks all ways.
    const user_id = await makeUser(kit, 'jane')
    const hers = await enroll(kit, 'hers', { user_id, now: clock.now })
    const one = await hers.client.issueSpc({ body: { csr: await newCsr() } })
    await here.suspendUser({ body: { user_id } })
    assert.equal(await statusOf(one.certificate), 'revoked')
    await assert.rejects(
      here.issueSpc({ body: { csr: await newCsr(), device_id: hers.id } }),
      refused(422, /suspended/),
    )
    await here.reactivateUser({ body: { user_id } })
    assert.equal(await statusOf(one.certificate), 'revoked')
    const two = await hers.client.issueSpc({ body: { csr: await newCsr() } })
    await here.changeDevice({ body: { operation: 'suspend', device_id: hers.id } })
    await here.changeDevice({ body: { operation: 'reactivate', device_id: hers.id } })
    assert.deepEqual([await statusOf(two.certificate), await statusOf(two.certificate, here)], ['revoked', 'revoked'])
    await here.changeDevice({ body: { operation: 'revoke', device_id: hers.id } })
    await assert.rejects(here.issueSpc({ body: { csr: await newCsr(), device_id: hers.id } }), refused(422, /revoked/))
  })
}
