import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enroll } from '../support/actors/devices.ts'
import { tufClient } from '../support/clients/tuf-client.ts'
import { withClient } from '../support/database/test-database.ts'
import { createClock, runJob, startKit } from '../support/deployment/deployment.ts'
import { areKeysUnreachable } from '../support/deployment/pkcs11-token.ts'
import { publish, rule } from '../support/domain/policy.ts'
import { contentOf, publishRelease } from '../support/domain/releases.ts'

test('a replica without the PKCS#11 token of its keys verifies and serves, and signs nothing', async (t) => {
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

  await t.test('devices are authenticated, and requests that need a signature are refused for now', async () => {
    assert.equal((await its.trustAnchors()).version, first.version)
    await assert.rejects(
      kit.clientFor(kit.adminKey, without).rotateTrustAnchors({ body: { mode: 'planned' } }),
      areKeysUnreachable,
    )
    assert.ok(kit.logs.some((line) => /configured without a token \(HOLDFAST_PKCS11_LIBRARY\)/.test(line)))
  })
  await t.test('the replica is ready', async () => {
    assert.equal((await fetch(`${without.url}/readyz`)).status, 200)
  })
  await t.test('a trust set due for renewal is served until its end', async () => {
    clock.advance(4 * 86_400)
    const admin = kit.clientFor(kit.adminKey, without)
    assert.ok(clock.now() > new Date(first.refresh_after))
    assert.equal((await admin.trustAnchors()).version, first.version)
    assert.equal((await its.trustAnchors()).version, first.version)
    clock.advance(4 * 86_400)
    await assert.rejects(admin.trustAnchors(), areKeysUnreachable)
  })
  await t.test('a lost token can be left behind', async () => {
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

test('update metadata due for renewal are served until their end while the keys are unavailable', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now, config: { pkcs11: undefined } })
  await publishRelease(kit, '1.1.0')
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
  await assert.rejects(admin.tufMetadata({ params: { file: 'timestamp.json' } }), areKeysUnreachable)
})
