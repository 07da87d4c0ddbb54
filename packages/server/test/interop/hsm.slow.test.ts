import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import type { SignerPurpose } from '@holdfast/contract/vocabulary'
import { verifyChain } from '@holdfast/crypto'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { enroll } from '../support/actors/devices.ts'
import { makeGateway } from '../support/actors/gateways.ts'
import { refused } from '../support/clients/answers.ts'
import { holdTable } from '../support/database/table-lock.ts'
import { withClient } from '../support/database/test-database.ts'
import { type Kit, runJob, startKit } from '../support/deployment/deployment.ts'
import { areKeysUnreachable, createSoftHsm } from '../support/deployment/pkcs11-token.ts'
import { until } from '../support/deployment/wait-until.ts'
import { publish, rule } from '../support/domain/policy.ts'
import { runTool, without } from './tools.ts'

const skip = without('softhsm2-util') || without('pkcs11-tool')
type SoftHsm = ReturnType<typeof createSoftHsm>

/** The output of OpenSC for each private key in the token, by `kid`. */
async function privateKeys({ config, pin }: SoftHsm): Promise<Map<string, string>> {
  const { status, stdout, stderr } = await runTool(
    'pkcs11-tool',
    ['--module', config.library, '--token-label', config.token, '--login', '--pin', pin, '-O', '--type', 'privkey'],
    { env: { ...config.environment } },
  )
  assert.equal(status, 0, stderr)
  const objects = stdout.split('Private Key Object').slice(1)
  return new Map(objects.map((text) => [/label: +holdfast [\w-]+ ([\w-]{43})/.exec(text)?.[1] ?? text, text]))
}
async function destroyIn({ config, pin }: SoftHsm, kid: string): Promise<void> {
  const id = Buffer.from(kid, 'base64url').toString('hex')
  for (const type of ['privkey', 'pubkey']) {
    const args = ['--module', config.library, '--token-label', config.token, '--login', '--pin', pin]
    const { status, stderr } = await runTool('pkcs11-tool', [...args, '-b', '--type', type, '--id', id], {
      env: { ...config.environment },
    })
    assert.equal(status, 0, stderr)
  }
}
/**
 * All signing keys but the one for audit checkpoints. Verifiers of checkpoints need Ed25519, for which the token has no
 * keys: that key is sealed in the database.
 */
const keysOf = (kit: Kit) =>
  kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .selectFrom('signing_keys')
      .selectAll()
      .where('tenant_id', '=', kit.tenant)
      .where('purpose', '<>', 'audit-checkpoint')
      .execute(),
  )
const unneeded = (kit: Kit) => kit.db.acrossTenants((tx) => tx.selectFrom('unneeded_token_keys').selectAll().execute())
const active = async (kit: Kit, purpose: SignerPurpose) =>
  (await kit.admin.listSigners({ query: { purpose, state: 'active' } })).items[0] ?? assert.fail(purpose)

/** The processes that have a PKCS#11 library loaded, for all kits of this process. */
const beside = (): number[] => {
  const tasks = readdirSync('/proc/self/task')
  const children = tasks.flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, 'utf8').trim().split(' '))
  return children
    .filter((pid) => pid !== '' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('token-process'))
    .map(Number)
}

test('every signature is made in the token', { skip }, async (t) => {
  const hsm = createSoftHsm()
  const kit = await startKit(t, { config: { pkcs11: hsm.config } })
  kit.after(hsm.end)
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop')
  const { secret } = await makeGateway(kit)
  const gateway = kit.clientFor(secret)
  const issued = await device.client.issueSpc({ body: { csr: await newCsr() } })
  const { anchors, jwks } = await kit.admin.trustAnchors()

  await t.test('the database has no private key, and the token has all of them, not extractable', async () => {
    const rows = await keysOf(kit)
    const purposes = ['ca-issuing', 'ca-root', 'credential', 'gateway-policy', 'policy', 'trust-set']
    assert.deepEqual(rows.map((row) => row.purpose).sort(), purposes)
    const found = await privateKeys(hsm)
    assert.deepEqual([...found.keys()].sort(), rows.map((row) => row.kid).sort())
    for (const { kid, provider, private_jwe } of rows) {
      assert.deepEqual([provider, private_jwe], ['pkcs11', null])
      const text = found.get(kid) ?? ''
      assert.match(text, /Usage: +sign\n/)
      assert.match(text, /Access: +sensitive, always sensitive, never extract(?:able)?, local/)
    }
    assert.deepEqual(await unneeded(kit), [])
  })
  await t.test('the signatures of the token are valid', async () => {
    const certificates = anchors.map((a) => a.certificate)
    verifyChain(issued.certificate, { intermediates: issued.chain, anchors: certificates, at: new Date() })
    await kit.admin.revokeSpc({ body: { spc_id: issued.spc.spc_id, reason: 'keyCompromise' } })
    assert.ok(jwks.keys.length >= 4)
    await gateway.unifiedPolicy({ query: {} })
    await device.client.policyBundle({ query: {} })
  })
  await t.test('a missing object fails its key alone, and signed content is still served', async () => {
    const bundle = await device.client.policyDigest()
    const { issuing = [], others = [] } = Object.groupBy(await keysOf(kit), ({ purpose }) =>
      purpose === 'ca-issuing' ? 'issuing' : 'others',
    )
    for (const { kid } of issuing) await destroyIn(hsm, kid)
    // The library is loaded again, so that it has a single session when this request fails.
    for (const pid of beside()) process.kill(pid, 'SIGKILL')
    await assert.rejects(device.client.issueSpc({ body: { csr: await newCsr() } }), areKeysUnreachable)
    await enroll(kit, 'tablet')
    for (const { kid } of others) await destroyIn(hsm, kid)
    await assert.rejects(enroll(kit, 'phone'), areKeysUnreachable)
    await assert.rejects(device.client.issueSpc({ body: { csr: await newCsr() } }), areKeysUnreachable)
    await assert.rejects(kit.admin.rotateTrustAnchors({ body: { mode: 'planned' } }), areKeysUnreachable)
    assert.deepEqual(await device.client.policyDigest(), bundle)
    assert.equal((await kit.admin.trustAnchors()).anchors.length, 1)
    assert.ok(kit.logs.some((line) => /the token has no key/.test(line)))
  })
})

test('a retired or unreferenced key is destroyed in the token', { skip }, async (t) => {
  const hsm = createSoftHsm()
  const kit = await startKit(t, { replicas: 2, config: { pkcs11: hsm.config } })
  kit.after(hsm.end)
  const admins = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const before = await active(kit, 'policy')

  await t.test('of twenty concurrent keys on two replicas only the stored one stays in the token', async () => {
    const held = await holdTable(kit, 'signing_keys')
    const making = Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => admins[i % 2]!.createSigner({ body: { purpose: 'policy' } })),
    )
    await held.waits(20)
    await held.letGo()
    const made = await making
    const [signer, ...others] = made.flatMap((o) => (o.status === 'fulfilled' ? [o.value] : []))
    assert.ok(signer && others.length === 0)
    for (const o of made) if (o.status === 'rejected') refused(422)(o.reason)
    assert.equal((await unneeded(kit)).length, 19)
    assert.equal(await runJob(kit.app, 'destroy_token_keys'), 0, 'their rows could still come')
    assert.equal((await privateKeys(hsm)).size, 6 + 20)
    await assert.rejects(kit.admin.createSigner({ body: { purpose: 'policy' } }), refused(422))
    assert.equal((await unneeded(kit)).length, 19, 'for who comes later none is made')
    await withClient(kit.databaseUrl, (client) => client.query('update unneeded_token_keys set destroy_after = now()'))
    assert.equal(await runJob(kit.app, 'destroy_token_keys'), 19)
    const left = await privateKeys(hsm)
    assert.deepEqual([...left.keys()].sort(), (await keysOf(kit)).map((row) => row.kid).sort())
    assert.equal(left.size, 7)
    await kit.admin.activateSigner({ params: { signer_id: signer.signer_id }, body: {} })
  })
  await t.test('a refused rotation creates no key', async () => {
    const body = { mode: 'emergency', anchor_id: before.signer_id } as const
    await assert.rejects(kit.admin.rotateTrustAnchors({ body }), refused(422, /anchor_id/))
    assert.deepEqual(await unneeded(kit), [])
  })
  await t.test('the new key signs for both replicas, and the previous one no longer', async () => {
    await publish(kit, [rule('all', { any: true })])
    const device = await enroll(kit, 'laptop')
    const { kid } = await active(kit, 'policy')
    for (const replica of kit.replicas) {
      const { bundle } = await device.at(replica).policyBundle({ query: {} })
      assert.equal(JSON.parse(Buffer.from(bundle.split('.')[0]!, 'base64url').toString()).kid, kid)
    }
    assert.notEqual(kid, before.kid)
  })
  await t.test('the object of a retired key is destroyed as soon as the token is available', async () => {
    const params = { signer_id: before.signer_id }
    hsm.takeAway()
    for (const pid of beside()) process.kill(pid, 'SIGKILL')
    await kit.admin.retireSigner({ params, body: { compromised: true } })
    await assert.rejects(runJob(kit.app, 'destroy_token_keys'), /a signing key is unavailable/)
    assert.equal((await unneeded(kit)).length, 1)
    hsm.bringBack()
    assert.ok((await privateKeys(hsm)).has(before.kid))
    await until(async () => (await runJob(kit.app, 'destroy_token_keys').catch(() => 0)) === 1)
    assert.ok(!(await privateKeys(hsm)).has(before.kid))
    assert.deepEqual(await unneeded(kit), [])
  })
})

test('a token that was unavailable is used again without a restart', { skip }, async (t) => {
  const hsm = createSoftHsm()
  const kit = await startKit(t, { replicas: 2, config: { pkcs11: hsm.config } })
  kit.after(hsm.end)
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop')
  const atEach = () => Promise.all(kit.replicas.map((replica) => device.at(replica).policyBundle({ query: {} })))
  const held = await atEach()

  await t.test('a crashed library is loaded again, and no request fails', async () => {
    for (const pid of beside()) process.kill(pid, 'SIGKILL')
    await Promise.all(Array.from({ length: 20 }, (_, i) => enroll(kit, `phone ${i}`)))
    // A job of the other replica may need the library at the same time. The next tests need a single one.
    await until(async () => {
      if (beside().length === 1) return true
      for (const pid of beside()) process.kill(pid, 'SIGKILL')
      await enroll(kit, 'another phone')
      return beside().length === 1
    })
  })
  await t.test('without the token, requests that need it are refused for now, and others are served', async () => {
    hsm.takeAway()
    for (const pid of beside()) process.kill(pid, 'SIGKILL')
    await assert.rejects(enroll(kit, 'tablet'), areKeysUnreachable)
    await assert.rejects(enroll(kit, 'tablet'), areKeysUnreachable)
    assert.deepEqual(await atEach(), held)
    const answer = await fetch(`${kit.url}/readyz`)
    assert.equal(answer.status, 200)
    assert.ok(kit.logs.some((line) => /PKCS#11 token cannot be opened.*no token has the label/.test(line)))
    hsm.bringBack()
    await until(async () => {
      const { secret } = await kit.admin.generateToken({ body: {} })
      return enroll(kit, secret.slice(0, 20)).then(
        () => true,
        (e) => !areKeysUnreachable(e),
      )
    })
  })
  await t.test('a hanging token times out, and delays no other request', async () => {
    const [pid] = beside()
    assert.ok(pid)
    process.kill(pid, 'SIGSTOP')
    const waiting = enroll(kit, 'slow')
    for (let i = 0; i < 20; i++) assert.deepEqual(await atEach(), held)
    await assert.rejects(waiting, areKeysUnreachable)
    await enroll(kit, 'slow again')
  })
  await t.test('a wrong PIN is tried once', async () => {
    const pin = readFileSync(hsm.config.pinFile, 'utf8')
    writeFileSync(hsm.config.pinFile, 'wrong\n')
    for (const process of beside()) globalThis.process.kill(process, 'SIGKILL')
    for (let i = 0; i < 3; i++) await assert.rejects(enroll(kit, 'tv'), areKeysUnreachable)
    assert.equal(kit.logs.filter((line) => /PKCS#11 token cannot be opened.*CKR_PIN_INCORRECT/.test(line)).length, 1)
    writeFileSync(hsm.config.pinFile, pin)
    await enroll(kit, 'tv')
  })
  await t.test('the PIN is never logged', () => {
    assert.ok(!kit.logs.some((line) => line.includes(hsm.pin)))
  })
})
