import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enroll, publish, rule } from '../support/actors/gateways.ts'
import { tufClient } from '../support/clients/tuf-client.ts'
import { withClient } from '../support/database/test-database.ts'
import { createClock, runJob, startKit } from '../support/deployment/deployment.ts'
import { contentOf, release } from '../support/domain/releases.ts'

const isAway = (e: unknown) => {
  const { status, retryAfterSeconds } = e as { status?: number; retryAfterSeconds?: number }
  assert.equal(status, 500)
  assert.ok(retryAfterSeconds)
  return true
}

test('a replica that lacks the token of its keys verifies and serves, and signs nothing', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now, config: { pkcs11: undefined } })
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop', { now: clock.now })
  const first = await kit.admin.trustAnchors()
  await withClient(kit.databaseUrl, (client) =>
    client.query(`update signing_keys set provider = 'pkcs11', private_jwe = null where alg <> 'Ed25519'`),
  )
  const without = await kit.startReplica()
  const its = device.at(without)

  await t.test('devices are known by their credentials; what would have to be signed is refused for now', async () => {
    assert.equal((await its.trustAnchors()).version, first.version)
    await assert.rejects(kit.clientFor(kit.adminKey, without).rotateTrustAnchors({ body: { mode: 'planned' } }), isAway)
    assert.ok(kit.logs.some((line) => /configured without one \(HOLDFAST_PKCS11_LIBRARY\)/.test(line)))
  })
  await t.test('it is ready', async () => {
    assert.equal((await fetch(`${without.url}/readyz`)).status, 200)
  })
  await t.test('the trust set that was due for another one stays, until its end', async () => {
    clock.advance(4 * 86_400)
    const admin = kit.clientFor(kit.adminKey, without)
    assert.ok(clock.now() > new Date(first.refresh_after))
    assert.equal((await admin.trustAnchors()).version, first.version)
    assert.equal((await its.trustAnchors()).version, first.version)
    clock.advance(4 * 86_400)
    await assert.rejects(admin.trustAnchors(), isAway)
  })
  await t.test('a token that is lost for good is left behind', async () => {
    const admin = kit.clientFor(kit.adminKey, without)
    await runJob(without.app, 'ensure_partitions')
    for (const purpose of ['trust-set', 'credential', 'policy', 'gateway-policy'] as const) {
      const [signer] = (await admin.listSigners({ query: { purpose, state: 'active' } })).items
      assert.ok(signer)
      await admin.retireSigner({ params: { signer_id: signer.signer_id }, body: { compromised: true } })
    }
    await admin.rotateTrustAnchors({ body: { mode: 'emergency' } })
    const { version, anchors, jwks } = await admin.trustAnchors()
    assert.ok(version > first.version)
    assert.notEqual(anchors[0]?.anchor_id, first.anchors[0]?.anchor_id)
    // The checkpoint key was never in the token.
    const stays = first.jwks.keys.filter((key) => jwks.keys.some(({ kid }) => kid === key.kid))
    assert.deepEqual(
      stays.map((key) => key.holdfast_purpose),
      [['audit-checkpoint']],
    )
    await kit.heard()
    await enroll(kit, 'laptop again', { now: clock.now })
  })
})

test('metadata of updates that are due for renewal are served to their end while the keys that sign them are away', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now, config: { pkcs11: undefined } })
  await release(kit, '1.1.0')
  await kit.admin.tufMetadata({ params: { file: 'timestamp.json' } })
  await withClient(kit.databaseUrl, (client) =>
    client.query(`update signing_keys set provider = 'pkcs11', private_jwe = null where alg <> 'Ed25519'`),
  )
  const without = await kit.startReplica()
  clock.advance(13 * 3600)
  const client = await tufClient(kit, { dispatcher: without.dispatcher })
  assert.deepEqual(await client.get('1.1.0/linux/x64/client.tar.gz'), contentOf('1.1.0'))
  clock.advance(12 * 3600)
  const admin = kit.clientFor(kit.adminKey, without)
  await assert.rejects(admin.tufMetadata({ params: { file: 'timestamp.json' } }), isAway)
})
