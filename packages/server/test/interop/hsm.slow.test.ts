import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import type { SignerPurpose } from '@holdfast/contract/vocabulary'
import { verifyChain } from '@holdfast/crypto'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { enroll, publish, refused, rule, withGateway } from '../support/actors/gateways.ts'
import { holdTable } from '../support/database/table-lock.ts'
import { withClient } from '../support/database/test-database.ts'
import { type Kit, runJob, startKit } from '../support/deployment/deployment.ts'
import { createSoftHsm } from '../support/deployment/pkcs11-token.ts'
import { until } from '../support/deployment/wait-until.ts'
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
const isAway = (e: unknown) => {
  const { status, retryAfterSeconds } = e as { status?: number; retryAfterSeconds?: number }
  assert.equal(status, 500)
  assert.ok(retryAfterSeconds)
  return true
}

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
  const { secret } = await withGateway(kit)
  const gateway = kit.clientFor(secret)
  const issued = await device.client.issueSpc({ body: { csr: await newCsr() } })
  const { anchors, jwks } = await kit.admin.trustAnchors()

  await t.test(
    'the database holds no private key of these, and the token all of them, which never leave it',
    async () => {
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
    },
  )
  await t.test('what it signed is good', async () => {
    const certificates = anchors.map((a) => a.certificate)
    verifyChain(issued.certificate, { intermediates: issued.chain, anchors: certificates, at: new Date() })
    await kit.admin.revokeSpc({ body: { spc_id: issued.spc.spc_id, reason: 'keyCompromise' } })
    assert.ok(jwks.keys.length >= 4)
    await gateway.unifiedPolicy({ query: {} })
    await device.client.policyBundle({ query: {} })
  })
  await t.test('without its object each of them fails alone, and what is signed already is served', async () => {
    const bundle = await device.client.policyDigest()
    const { issuing = [], others = [] } = Object.groupBy(await keysOf(kit), ({ purpose }) =>
      purpose === 'ca-issuing' ? 'issuing' : 'others',
    )
    for (const { kid } of issuing) await destroyIn(hsm, kid)
    // The library is loaded again, so that it has a single session when this request fails.
    for (const pid of beside()) process.kill(pid, 'SIGKILL')
    await assert.rejects(device.client.issueSpc({ body: { csr: await newCsr() } }), isAway)
    await enroll(kit, 'tablet')
    for (const { kid } of others) await destroyIn(hsm, kid)
    await assert.rejects(enroll(kit, 'phone'), isAway)
    await assert.rejects(device.client.issueSpc({ body: { csr: await newCsr() } }), isAway)
    await assert.rejects(kit.admin.rotateTrustAnchors({ body: { mode: 'planned' } }), isAway)
    assert.deepEqual(await device.client.policyDigest(), bundle)
    assert.equal((await kit.admin.trustAnchors()).anchors.length, 1)
    assert.ok(kit.logs.some((line) => /the token has no key/.test(line)))
  })
})

test('a key that is retired, or that no row takes, is destroyed in the token', { skip }, async (t) => {
  const hsm = createSoftHsm()
  const kit = await startKit(t, { replicas: 2, config: { pkcs11: hsm.config } })
  kit.after(hsm.end)
  const admins = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const before = await active(kit, 'policy')

  await t.test('of twenty that are made at once on two replicas the one with a row stays', async () => {
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
  await t.test('nothing is made for a rotation whose turn it is not', async () => {
    const body = { mode: 'emergency', anchor_id: before.signer_id } as const
    await assert.rejects(kit.admin.rotateTrustAnchors({ body }), refused(422, /anchor_id/))
    assert.deepEqual(await unneeded(kit), [])
  })
  await t.test('it signs for both replicas, and the one before it not any more', async () => {
    await publish(kit, [rule('all', { any: true })])
    const device = await enroll(kit, 'laptop')
    const { kid } = await active(kit, 'policy')
    for (const replica of kit.replicas) {
      const { bundle } = await device.at(replica).policyBundle({ query: {} })
      assert.equal(JSON.parse(Buffer.from(bundle.split('.')[0]!, 'base64url').toString()).kid, kid)
    }
    assert.notEqual(kid, before.kid)
  })
  await t.test('the end of a key is the end of its object, as soon as the token is there', async () => {
    const params = { signer_id: before.signer_id }
    hsm.takeAway()
    for (const pid of beside()) process.kill(pid, 'SIGKILL')
    await kit.admin.retireSigner({ params, body: { compromised: true } })
    await assert.rejects(runJob(kit.app, 'destroy_token_keys'), /a signing key can not be used/)
    assert.equal((await unneeded(kit)).length, 1)
    hsm.bringBack()
    assert.ok((await privateKeys(hsm)).has(before.kid))
    await until(async () => (await runJob(kit.app, 'destroy_token_keys').catch(() => 0)) === 1)
    assert.ok(!(await privateKeys(hsm)).has(before.kid))
    assert.deepEqual(await unneeded(kit), [])
  })
})

test('a token that is away comes back without a restart', { skip }, async (t) => {
  const hsm = createSoftHsm()
  const kit = await startKit(t, { replicas: 2, config: { pkcs11: hsm.config } })
  kit.after(hsm.end)
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop')
  const atEach = () => Promise.all(kit.replicas.map((replica) => device.at(replica).policyBundle({ query: {} })))
  const held = await atEach()

  await t.test('a library that crashes is loaded again, and nobody notices', async () => {
    for (const pid of beside()) process.kill(pid, 'SIGKILL')
    await Promise.all(Array.from({ length: 20 }, (_, i) => enroll(kit, `phone ${i}`)))
    await until(() => beside().length === 1, 'a library only where it was needed')
  })
  await t.test('while there is none, what needs it is refused for now, and the rest is served', async () => {
    hsm.takeAway()
    for (const pid of beside()) process.kill(pid, 'SIGKILL')
    await assert.rejects(enroll(kit, 'tablet'), isAway)
    await assert.rejects(enroll(kit, 'tablet'), isAway)
    assert.deepEqual(await atEach(), held)
    const answer = await fetch(`${kit.url}/readyz`)
    assert.equal(answer.status, 200)
    assert.ok(kit.logs.some((line) => /the token can not be used.*no token has the label/.test(line)))
    hsm.bringBack()
    await until(async () => {
      const { secret } = await kit.admin.generateToken({ body: {} })
      return enroll(kit, secret.slice(0, 20)).then(
        () => true,
        (e) => !isAway(e),
      )
    })
  })
  await t.test('one that does not answer is not waited for for ever, and holds nobody else up', async () => {
    const [pid] = beside()
    assert.ok(pid)
    process.kill(pid, 'SIGSTOP')
    const waiting = enroll(kit, 'slow')
    for (let i = 0; i < 20; i++) assert.deepEqual(await atEach(), held)
    await assert.rejects(waiting, isAway)
    await enroll(kit, 'slow again')
  })
  await t.test('a wrong PIN is tried once', async () => {
    const pin = readFileSync(hsm.config.pinFile, 'utf8')
    writeFileSync(hsm.config.pinFile, 'wrong\n')
    for (const process of beside()) globalThis.process.kill(process, 'SIGKILL')
    for (let i = 0; i < 3; i++) await assert.rejects(enroll(kit, 'tv'), isAway)
    assert.equal(kit.logs.filter((line) => /the token can not be used.*CKR_PIN_INCORRECT/.test(line)).length, 1)
    writeFileSync(hsm.config.pinFile, pin)
    await enroll(kit, 'tv')
  })
  await t.test('its PIN is nowhere in the log', () => {
    assert.ok(!kit.logs.some((line) => line.includes(hsm.pin)))
  })
})
