import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateInfo, verifyChain } from '@holdfast/crypto'
import { openTrust, pinTrust, type SignedTrustSet } from '@holdfast/sdk'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { audited, enroll, publish, refused, rule, withGateway } from '../support/actors/gateways.ts'
import { createClock, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { tokenOfRun } from '../support/deployment/pkcs11-token.ts'
import { tenantOf } from '../support/deployment/separate-tenant.ts'
import { until } from '../support/deployment/wait-until.ts'

const day = 86_400
const subjects = (certificates: readonly string[]) => certificates.map((c) => certificateInfo(c).subject)
const accepts = (
  { certificate, chain }: { certificate: string; chain: string[] },
  { anchors, intermediates }: Pick<SignedTrustSet, 'anchors' | 'intermediates'>,
  at: Date,
) => {
  try {
    verifyChain(certificate, {
      intermediates: [...chain, ...intermediates].filter((c, i, all) => all.indexOf(c) === i),
      anchors: anchors.map((a) => a.certificate),
      at,
    })
    return true
  } catch {
    return false
  }
}

test('rotations in tenants of one deployment of two replicas, whose clock goes on', async (t) => {
  const clock = createClock()
  const deployment = await startKit(t, { replicas: 2, now: clock.now })

  await t.test('in an emergency the old anchor ends at once, with all that hangs on it', async () => {
    const kit = await tenantOf(deployment)
    await publish(kit, [rule('all', { any: true })])
    const device = await enroll(kit, 'laptop', { now: clock.now })
    const { secret } = await withGateway(kit)
    const first = await kit.admin.trustAnchors()
    const { certificate } = await device.client.issueSpc({ body: { csr: await newCsr() } })
    clock.advance(61)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => kit.admin.rotateTrustAnchors({ body: { mode: 'emergency' } })),
    )
    assert.equal(outcomes.filter((o) => o.status === 'fulfilled').length, 1)
    const next = await kit.admin.trustAnchors()
    assert.deepEqual(
      next.anchors.map((a) => a.state),
      ['active'],
    )
    assert.notEqual(next.anchors[0]?.anchor_id, first.anchors[0]?.anchor_id)
    assert.ok(!subjects(next.intermediates).some((s) => subjects(first.intermediates).includes(s)))
    assert.equal((await kit.admin.validateSpc({ body: { certificate } })).status, 'unknown_issuer')
    const [spc] = (await kit.admin.listSpcs()).items
    assert.deepEqual([spc?.status, spc?.revocation_reason], ['revoked', 'cACompromise'])
    const pinned = openTrust(first, { tenantId: first.tenant_id })
    assert.ok(pinned.accept(next, clock.now()), 'sets are still signed by the key of sets')
    const again = await device.client.issueSpc({ body: { csr: await newCsr() } })
    assert.ok(accepts(again, next, clock.now()))
    const gateway = await kit.clientFor(secret).gatewayTrustAnchors()
    assert.equal(gateway.crls.length, 2)
  })
  await t.test('signing keys come, sign and go', async (t) => {
    const kit = await tenantOf(deployment)
    await publish(kit, [rule('all', { any: true })])
    const device = await enroll(kit, 'laptop', { now: clock.now })
    const kidOf = (jws: string) => JSON.parse(Buffer.from(jws.split('.')[0]!, 'base64url').toString()).kid
    const pointerKid = async () => kidOf((await device.client.policyDigest()).pointer)
    const activeOf = async (purpose: 'policy' | 'trust-set') =>
      (await kit.admin.listSigners({ query: { purpose, state: 'active' } })).items[0]!

    await t.test('of twenty at once one is made; it is published and signs nothing', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, () => kit.admin.createSigner({ body: { purpose: 'policy' } })),
      )
      const made = outcomes.flatMap((o) => (o.status === 'fulfilled' ? [o.value] : []))
      assert.equal(made.length, 1)
      assert.equal(made[0]?.state, 'pending')
      const { jwks } = await kit.admin.trustAnchors()
      assert.ok(jwks.keys.some((k) => k.kid === made[0]?.kid))
      assert.equal(await pointerKid(), (await activeOf('policy')).kid)
      for (const purpose of ['ca-root', 'ca-issuing', 'tuf-root'] as const)
        await assert.rejects(kit.admin.createSigner({ body: { purpose } }), refused(422, /purpose/))
      if (!tokenOfRun)
        await assert.rejects(
          kit.admin.createSigner({ body: { purpose: 'posture', provider: 'pkcs11' } }),
          refused(422, /provider/),
        )
    })
    await t.test('activated by twenty at once: once; from then on it signs, on both replicas', async () => {
      const [pending] = (await kit.admin.listSigners({ query: { state: 'pending' } })).items
      const before = await activeOf('policy')
      const params = { signer_id: pending!.signer_id }
      const done = await times(20, () => kit.admin.activateSigner({ params, body: {} }))
      assert.equal(done.filter((d) => d.changed).length, 1)
      for (const replica of kit.replicas)
        assert.equal(kidOf((await device.at(replica).policyDigest()).pointer), pending!.kid)
      const retiring = await kit.admin.getSigner({ params: { signer_id: before.signer_id } })
      assert.equal(retiring.state, 'retiring')
      await assert.rejects(
        kit.admin.retireSigner({ params: { signer_id: before.signer_id }, body: {} }),
        refused(422, /good until/),
      )
      await assert.rejects(
        kit.admin.activateSigner({ params: { signer_id: before.signer_id }, body: {} }),
        refused(422),
      )
      clock.advance(3 * day)
      await runJob(kit.app, 'retire_signers')
      assert.equal((await kit.admin.getSigner({ params: { signer_id: before.signer_id } })).state, 'retired')
    })
    await t.test('compromised: nothing that it signed is given out any more', async () => {
      const bundleKid = async () => kidOf((await device.client.policyBundle()).bundle)
      const stolen = await activeOf('policy')
      await device.renew()
      assert.equal(await bundleKid(), stolen.kid)
      await kit.admin.retireSigner({ params: { signer_id: stolen.signer_id }, body: { compromised: true } })
      const { kid } = await activeOf('policy')
      assert.notEqual(kid, stolen.kid)
      assert.deepEqual([await pointerKid(), await bundleKid()], [kid, kid])
    })
    await t.test('those of updates are shown too, and passed on one by one', async () => {
      await kit.admin.tufStatus()
      const { items } = await kit.admin.listSigners({ query: { limit: 200 } })
      for (const purpose of ['tuf-root', 'tuf-targets', 'tuf-snapshot', 'tuf-timestamp'] as const)
        assert.equal(items.filter((s) => s.purpose === purpose && s.state === 'active').length, 1, purpose)
      const { signer_id } = await kit.admin.createSigner({ body: { purpose: 'tuf-timestamp' } })
      await kit.admin.activateSigner({ params: { signer_id }, body: {} })
      const { root } = await kit.admin.tufStatus()
      assert.equal(root.signed.version, 2)
    })
    await t.test('who slept through rotations of the key of sets is led to the newest', async () => {
      const slept = await kit.admin.trustAnchors()
      for (let i = 0; i < 3; i++) {
        const { signer_id } = await kit.admin.createSigner({ body: { purpose: 'trust-set' } })
        await kit.admin.activateSigner({ params: { signer_id }, body: {} })
        await kit.admin.trustAnchors()
        const old = (await kit.admin.listSigners({ query: { purpose: 'trust-set', state: 'retiring' } })).items[0]!
        await kit.admin.retireSigner({ params: { signer_id: old.signer_id }, body: { force: true } })
        await kit.admin.trustAnchors()
      }
      const newest = await kit.admin.trustAnchors()
      const strict = openTrust(slept, { tenantId: slept.tenant_id })
      assert.throws(() => strict.accept(newest, clock.now()))
      const led = await kit.admin.trustAnchors({ query: { since: slept.version } })
      assert.ok((led.steps?.length ?? 0) >= 3)
      assert.ok(openTrust(slept, { tenantId: slept.tenant_id }).accept(led, clock.now()))
      assert.equal((await kit.admin.trustAnchors({ query: { since: newest.version } })).steps, undefined)
    })
  })
  await t.test('trust anchors are rotated as planned', async (t) => {
    const kit = await tenantOf(deployment)
    await publish(kit, [rule('all', { any: true })])
    const device = await enroll(kit, 'laptop', { now: clock.now })
    const { secret } = await withGateway(kit)
    const first = await kit.admin.trustAnchors()
    const pinned = pinTrust(first, { tenantId: first.tenant_id, now: clock.now() })
    const before = await device.client.issueSpc({ body: { csr: await newCsr() } })
    const [old] = first.anchors
    assert.ok(old)

    await t.test('of twenty who do so on two replicas one does', async () => {
      const admins = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) => admins[i % 2]!.rotateTrustAnchors({ body: { mode: 'planned' } })),
      )
      const made = outcomes.flatMap((o) => (o.status === 'fulfilled' ? [o.value] : []))
      assert.equal(made.length, 1)
      for (const o of outcomes) if (o.status === 'rejected') refused(422)(o.reason)
      assert.equal(made[0]?.replaced_anchor_id, old.anchor_id)
      assert.equal((await audited(kit, 'trust_anchors.rotated')).length, 1)
    })
    await t.test(
      'both anchors are there, and what each needs to reach the other; who held the old set follows',
      async () => {
        const next = await kit.admin.trustAnchors()
        assert.deepEqual(
          next.anchors.map((a) => a.state),
          ['active', 'retiring'],
        )
        assert.equal(next.intermediates.length, 4)
        assert.ok(pinned.accept(next, clock.now()))
      },
    )
    await t.test('what was issued before and after is accepted by who knows only the one or the other', async () => {
      const after = await device.client.issueSpc({ body: { csr: await newCsr() } })
      const next = await kit.admin.trustAnchors()
      const only = (state: string) => ({ ...next, anchors: next.anchors.filter((a) => a.state === state) })
      const now = clock.now()
      for (const spc of [before, after])
        for (const set of [only('active'), only('retiring')]) assert.ok(accepts(spc, set, now))
      assert.ok(accepts(after, { anchors: first.anchors, intermediates: [] }, now), 'the chain alone is enough')
      assert.ok(
        !accepts({ ...after, chain: after.chain.slice(0, 1) }, { anchors: first.anchors, intermediates: [] }, now),
      )
      for (const { certificate } of [before, after])
        assert.equal((await kit.admin.validateSpc({ body: { certificate } })).status, 'good')
    })
    await t.test('another one waits until the old anchor has retired', async () => {
      await assert.rejects(kit.admin.rotateTrustAnchors({ body: {} }), refused(422, /under way/))
      await assert.rejects(
        kit.admin.rotateTrustAnchors({ body: { mode: 'emergency', anchor_id: old.anchor_id } }),
        refused(422, /anchor_id/),
      )
    })
    await t.test('the old anchor stays while somebody needs it, and says how many', async () => {
      const retire = (force = false) =>
        kit.admin.retireSigner({ params: { signer_id: old.anchor_id }, body: { force } })
      await assert.rejects(retire(), refused(422, /good until .*1 of 1 devices and 1 of 1 gateways have not fetched/))
      clock.advance(15 * day)
      await device.renew()
      await assert.rejects(retire(), refused(422, /1 of 1 devices/))
      await runJob(kit.app, 'retire_signers')
      assert.equal((await kit.admin.trustAnchors()).anchors.length, 2)
      const { version } = await device.client.trustAnchors()
      await kit.clientFor(secret).heartbeat({
        body: { boot_id: 'b', active_sessions: 0, applied: { trust_version: version } },
      })
      await until(async () => {
        await runJob(kit.app, 'retire_signers')
        return (await kit.admin.trustAnchors()).anchors.length === 1
      })
      const { anchors, intermediates } = await kit.admin.trustAnchors()
      assert.notEqual(anchors[0]?.anchor_id, old.anchor_id)
      assert.equal(intermediates.length, 1)
      const signer = await kit.admin.getSigner({ params: { signer_id: old.anchor_id } })
      assert.equal(signer.state, 'retired')
    })
    await t.test('its private key is gone', { skip: tokenOfRun && 'a token has the keys' }, async () => {
      const rows = await kit.db.inTenant(kit.tenant, (tx) =>
        tx.selectFrom('signing_keys').select(['state', 'private_jwe']).where('tenant_id', '=', kit.tenant).execute(),
      )
      assert.deepEqual([...new Set(rows.filter((r) => r.private_jwe === null).map((r) => r.state))], ['retired'])
      assert.ok(rows.filter((r) => r.state !== 'retired').every((r) => r.private_jwe !== null))
    })
  })
  await t.test('an issuing CA is followed by another before it ends', async () => {
    const kit = await tenantOf(deployment)
    await publish(kit, [rule('all', { any: true })])
    const issuing = async () =>
      (await kit.admin.listSigners({ query: { purpose: 'ca-issuing' } })).items.map((s) => s.state).sort()
    await runJob(kit.app, 'renew_issuing_cas')
    assert.deepEqual(await issuing(), ['active'])
    clock.advance(250 * day)
    await runJob(kit.app, 'ensure_partitions')
    await Promise.all(kit.replicas.map(({ app }) => runJob(app, 'renew_issuing_cas')))
    assert.deepEqual(await issuing(), ['active', 'retiring'])
    assert.equal((await audited(kit, 'issuing_ca.renewed')).length, 1)
    clock.advance(9 * day)
    await runJob(kit.app, 'retire_signers')
    assert.deepEqual(await issuing(), ['active', 'retired'])
  })
})
