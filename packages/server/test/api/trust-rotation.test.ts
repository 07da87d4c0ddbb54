import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateInfo, verifyChain } from '@holdfast/crypto'
import { openTrust, pinTrust, type SignedTrustSet } from '@holdfast/sdk'
import { inBatches } from '../../src/kernel/batches.ts'
import { activeIssuing, type DueSigner, dueToRetire } from '../../src/modules/trust/signers/signers.queries.ts'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { enroll } from '../support/actors/devices.ts'
import { makeGateway } from '../support/actors/gateways.ts'
import { refused } from '../support/clients/answers.ts'
import { createClock, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { tokenOfRun } from '../support/deployment/pkcs11-token.ts'
import { startTenant } from '../support/deployment/tenants.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { publish, rule } from '../support/domain/policy.ts'

const day = 86_400
/** Asserts that signers read one by one are the same as those read at once, and several. */
async function sameInBatches(read: (after: DueSigner | undefined, limit: number) => Promise<DueSigner[]>) {
  const all = await read(undefined, 1000)
  assert.ok(all.length > 1)
  assert.deepEqual((await Array.fromAsync(inBatches(1, read))).flat(), all)
}
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

test('rotations over time, on two replicas', async (t) => {
  const clock = createClock()
  const deployment = await startKit(t, { replicas: 2, now: clock.now })

  await t.test('an emergency rotation ends the old anchor and everything under it at once', async () => {
    const kit = await startTenant(deployment)
    await publish(kit, [rule('all', { any: true })])
    const device = await enroll(kit, 'laptop', { now: clock.now })
    const { secret } = await makeGateway(kit)
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
  await t.test('lifecycle of signing keys', async (t) => {
    const kit = await startTenant(deployment)
    await publish(kit, [rule('all', { any: true })])
    const device = await enroll(kit, 'laptop', { now: clock.now })
    const kidOf = (jws: string) => JSON.parse(Buffer.from(jws.split('.')[0]!, 'base64url').toString()).kid
    const pointerKid = async () => kidOf((await device.client.policyDigest()).pointer)
    const activeOf = async (purpose: 'policy' | 'trust-set') =>
      (await kit.admin.listSigners({ query: { purpose, state: 'active' } })).items[0]!

    await t.test('of twenty concurrent creations one key is made, published and not yet used', async () => {
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
    await t.test(
      'of twenty concurrent activations one takes effect, and then the key signs on both replicas',
      async () => {
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
          refused(422, /valid until/),
        )
        await assert.rejects(
          kit.admin.activateSigner({ params: { signer_id: before.signer_id }, body: {} }),
          refused(422),
        )
        clock.advance(3 * day)
        await runJob(kit.app, 'retire_signers')
        assert.equal((await kit.admin.getSigner({ params: { signer_id: before.signer_id } })).state, 'retired')
      },
    )
    await t.test('after a compromise nothing signed by the old key is served', async () => {
      const bundleKid = async () => kidOf((await device.client.policyBundle()).bundle)
      const stolen = await activeOf('policy')
      await device.renew()
      assert.equal(await bundleKid(), stolen.kid)
      await kit.admin.retireSigner({ params: { signer_id: stolen.signer_id }, body: { compromised: true } })
      const { kid } = await activeOf('policy')
      assert.notEqual(kid, stolen.kid)
      assert.deepEqual([await pointerKid(), await bundleKid()], [kid, kid])
    })
    await t.test('update keys are listed too, and replaced one by one', async () => {
      await kit.admin.tufStatus()
      const { items } = await kit.admin.listSigners({ query: { limit: 200 } })
      for (const purpose of ['tuf-root', 'tuf-targets', 'tuf-snapshot', 'tuf-timestamp'] as const)
        assert.equal(items.filter((s) => s.purpose === purpose && s.state === 'active').length, 1, purpose)
      const { signer_id } = await kit.admin.createSigner({ body: { purpose: 'tuf-timestamp' } })
      await kit.admin.activateSigner({ params: { signer_id }, body: {} })
      const { root } = await kit.admin.tufStatus()
      assert.equal(root.signed.version, 2)
    })
    await t.test('a client that missed rotations of the trust-set key reaches the newest set by steps', async () => {
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
  await t.test('planned rotation of trust anchors', async (t) => {
    const kit = await startTenant(deployment)
    await publish(kit, [rule('all', { any: true })])
    const device = await enroll(kit, 'laptop', { now: clock.now })
    const { secret } = await makeGateway(kit)
    const first = await kit.admin.trustAnchors()
    const pinned = pinTrust(first, { tenantId: first.tenant_id, now: clock.now() })
    const before = await device.client.issueSpc({ body: { csr: await newCsr() } })
    const [old] = first.anchors
    assert.ok(old)

    await t.test('of twenty concurrent rotations on two replicas one succeeds', async () => {
      const admins = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) => admins[i % 2]!.rotateTrustAnchors({ body: { mode: 'planned' } })),
      )
      const made = outcomes.flatMap((o) => (o.status === 'fulfilled' ? [o.value] : []))
      assert.equal(made.length, 1)
      for (const o of outcomes) if (o.status === 'rejected') refused(422)(o.reason)
      assert.equal(made[0]?.replaced_anchor_id, old.anchor_id)
      assert.equal((await eventsOf(kit, 'trust_anchors.rotated')).length, 1)
    })
    await t.test('both anchors are published, with cross certificates in both directions', async () => {
      const next = await kit.admin.trustAnchors()
      assert.deepEqual(
        next.anchors.map((a) => a.state),
        ['active', 'retiring'],
      )
      assert.equal(next.intermediates.length, 4)
      assert.ok(pinned.accept(next, clock.now()))
    })
    await t.test('old and new certificates are accepted by clients with either anchor only', async () => {
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
    await t.test('a second rotation is refused until the old anchor has retired', async () => {
      await assert.rejects(kit.admin.rotateTrustAnchors({ body: {} }), refused(422, /in progress/))
      await assert.rejects(
        kit.admin.rotateTrustAnchors({ body: { mode: 'emergency', anchor_id: old.anchor_id } }),
        refused(422, /anchor_id/),
      )
    })
    await t.test('the old anchor stays while clients need it, and a refusal gives their number', async () => {
      const retire = (force = false) =>
        kit.admin.retireSigner({ params: { signer_id: old.anchor_id }, body: { force } })
      await assert.rejects(retire(), refused(422, /valid until .*1 of 1 devices and 1 of 1 gateways have not fetched/))
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
    await t.test(
      'the private key of the retired anchor is deleted',
      { skip: tokenOfRun && 'a token has the keys' },
      async () => {
        const rows = await kit.db.inTenant(kit.tenant, (tx) =>
          tx.selectFrom('signing_keys').select(['state', 'private_jwe']).where('tenant_id', '=', kit.tenant).execute(),
        )
        assert.deepEqual([...new Set(rows.filter((r) => r.private_jwe === null).map((r) => r.state))], ['retired'])
        assert.ok(rows.filter((r) => r.state !== 'retired').every((r) => r.private_jwe !== null))
      },
    )
  })
  await t.test('an issuing CA is replaced before it ends', async () => {
    const kit = await startTenant(deployment)
    await publish(kit, [rule('all', { any: true })])
    const issuing = async () =>
      (await kit.admin.listSigners({ query: { purpose: 'ca-issuing' } })).items.map((s) => s.state).sort()
    await runJob(kit.app, 'renew_issuing_cas')
    assert.deepEqual(await issuing(), ['active'])
    clock.advance(250 * day)
    await runJob(kit.app, 'ensure_partitions')
    await sameInBatches((after, limit) => kit.db.acrossTenants((tx) => activeIssuing(tx, clock.now(), after, limit)))
    await Promise.all(kit.replicas.map(({ app }) => runJob(app, 'renew_issuing_cas')))
    assert.deepEqual(await issuing(), ['active', 'retiring'])
    assert.equal((await eventsOf(kit, 'issuing_ca.renewed')).length, 1)
    clock.advance(9 * day)
    await sameInBatches((after, limit) => kit.db.acrossTenants((tx) => dueToRetire(tx, clock.now(), after, limit)))
    await runJob(kit.app, 'retire_signers')
    assert.deepEqual(await issuing(), ['active', 'retired'])
  })
})
