import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { certificateInfo, readCrl, verifyChain } from '@holdfast/crypto'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { enroll, publish, refused, rule, withGateway } from '../support/actors/gateways.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

test('an issuing CA is compromised: another one issues, and the root lists it', async (t) => {
  const kit = await startKit(t)
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop')
  const { secret } = await withGateway(kit)
  const first = await kit.clientFor(secret).gatewayTrustAnchors()
  const { spc, certificate } = await device.client.issueSpc({ body: { csr: await newCsr() } })
  const params = { signer_id: spc.issuer_id }
  await assert.rejects(kit.admin.retireSigner({ params, body: { force: true } }), refused(422, /active/))
  const done = await kit.admin.retireSigner({ params, body: { compromised: true, reason: 'stolen' } })
  assert.deepEqual([done.changed, done.signer.state], [true, 'compromised'])
  assert.equal((await kit.admin.retireSigner({ params, body: { compromised: true } })).changed, false)
  assert.equal((await kit.admin.validateSpc({ body: { certificate } })).status, 'unknown_issuer')
  const next = await device.client.issueSpc({ body: { csr: await newCsr() } })
  assert.notEqual(next.spc.issuer_id, spc.issuer_id)
  const [root] = first.anchors
  for (;;) {
    const { crls } = await kit.clientFor(secret).gatewayTrustAnchors()
    const ofRoot = crls.find((c) => c.issuer_id === root?.anchor_id)!
    const { revoked } = readCrl(Buffer.from(ofRoot.der, 'base64'), root!.certificate)
    const [entry] = revoked
    if (!entry) continue
    assert.equal(entry[0], certificateInfo(first.intermediates[0]!).serial)
    assert.equal(entry[1].reason, 'cACompromise')
    break
  }
})

test('an old root is compromised: what hangs on it ends, and the new root lists what it certified of it', async (t) => {
  const kit = await startKit(t)
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop')
  const { secret } = await withGateway(kit)
  const { certificate, chain, spc } = await device.client.issueSpc({ body: { csr: await newCsr() } })
  const { anchor_id, replaced_anchor_id } = await kit.admin.rotateTrustAnchors({ body: { mode: 'planned' } })
  const next = await device.client.issueSpc({ body: { csr: await newCsr() } })
  const { anchors, intermediates } = await kit.admin.trustAnchors()
  const [fresh, old] = [anchor_id, replaced_anchor_id].map((id) => anchors.find((a) => a.anchor_id === id)!)
  // The chain uses the cross certificate, for a verifier with the new root only.
  verifyChain(certificate, {
    intermediates: [...chain, ...intermediates],
    anchors: [fresh!.certificate],
    at: new Date(),
  })
  await kit.admin.retireSigner({ params: { signer_id: replaced_anchor_id }, body: { compromised: true } })

  const [cross, ...others] = intermediates.filter((pem) => {
    const x509 = new X509Certificate(pem)
    return x509.subject === new X509Certificate(old!.certificate).subject
  })
  assert.ok(cross && others.length === 0)
  await until(async () => {
    const { crls } = await kit.clientFor(secret).gatewayTrustAnchors()
    const { der } = crls.find((crl) => crl.issuer_id === anchor_id)!
    return readCrl(Buffer.from(der, 'base64'), fresh!.certificate).revoked.has(certificateInfo(cross).serial)
  }, 'the list of the new root')
  assert.deepEqual((await kit.admin.trustAnchors()).intermediates, next.chain.slice(0, 1))
  assert.equal((await kit.admin.getSigner({ params: { signer_id: spc.issuer_id } })).state, 'compromised')
  const judged = async (pem: string) => (await kit.admin.validateSpc({ body: { certificate: pem } })).status
  assert.deepEqual([await judged(certificate), await judged(next.certificate)], ['unknown_issuer', 'good'])
})
