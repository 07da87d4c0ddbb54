import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startKit } from '../support/deployment/deployment.ts'
import { runOnFiles, without } from './tools.ts'

/** The published chain of the tenant, and the chain of another tenant. */
async function chains(t: TestContext) {
  const kit = await startKit(t)
  const chainOf = async (client: typeof kit.admin) => {
    const { anchors, intermediates, tenant_id } = await client.trustAnchors()
    assert.deepEqual([anchors.length, intermediates.length], [1, 1])
    const [anchor, issuing] = [anchors[0]!, intermediates[0]!]
    return { tenant_id, anchor, files: { 'root.pem': anchor.certificate, 'issuing.pem': issuing } }
  }
  const other = await kit.as('tenant_admin', await kit.newTenant())
  return { own: await chainOf(kit.admin), foreign: await chainOf(other) }
}
const mixed = (own: Record<string, string>, foreign: Record<string, string>) => ({
  ...own,
  'root.pem': foreign['root.pem']!,
})

test('openssl verifies the published chain strictly, and refuses the root of another tenant', {
  skip: without('openssl'),
}, async (t) => {
  const { own, foreign } = await chains(t)
  const args = ['verify', '-x509_strict', '-check_ss_sig', '-purpose', 'any', '-CAfile', 'root.pem', 'issuing.pem']
  const verified = await runOnFiles('openssl', own.files, args)
  assert.deepEqual([verified.status, verified.stdout.trim()], [0, 'issuing.pem: OK'], verified.stderr)
  const refused = await runOnFiles('openssl', mixed(own.files, foreign.files), args)
  assert.notEqual(refused.status, 0)
  assert.match(refused.stderr, /unable to get local issuer certificate/)
})

test('openssl reads the constraints, usages and names of both certificates', {
  skip: without('openssl'),
}, async (t) => {
  const { own } = await chains(t)
  const show = async (file: string, ...what: string[]) =>
    (await runOnFiles('openssl', own.files, ['x509', '-in', file, '-noout', ...what])).stdout
  const textOf = (file: string) => show(file, '-text', '-nameopt', 'oneline')
  const [root, issuing] = [await textOf('root.pem'), await textOf('issuing.pem')]
  assert.match(root, /Basic Constraints: critical\s+CA:TRUE\n/)
  assert.match(root, /Key Usage: critical\s+Certificate Sign, CRL Sign\n/)
  assert.match(root, /NIST CURVE: P-384/)
  assert.match(issuing, /Basic Constraints: critical\s+CA:TRUE, pathlen:0\n/)
  assert.match(issuing, /Key Usage: critical\s+Digital Signature, Certificate Sign, CRL Sign\n/)
  assert.match(issuing, /NIST CURVE: P-256/)
  for (const text of [root, issuing]) {
    assert.match(text, /Signature Algorithm: ecdsa-with-SHA384/)
    assert.match(text, new RegExp(`Issuer: O = ${own.tenant_id}, CN = Root CA [0-9a-f]{8}\n`))
  }
  const identifier = async (file: string, name: string) =>
    (await show(file, '-ext', name)).match(/([0-9A-F]{2}:?){20}/)?.[0]
  assert.ok(await identifier('root.pem', 'subjectKeyIdentifier'))
  assert.equal(
    await identifier('issuing.pem', 'authorityKeyIdentifier'),
    await identifier('root.pem', 'subjectKeyIdentifier'),
  )
  const end = (await show('root.pem', '-enddate')).replace('notAfter=', '').trim()
  assert.equal(new Date(end).toISOString(), own.anchor.not_after)
})

test('certtool verifies the published chain, and refuses the root of another tenant', {
  skip: without('certtool'),
}, async (t) => {
  const { own, foreign } = await chains(t)
  const whole = (files: Record<string, string>) => ({ 'chain.pem': files['issuing.pem']! + files['root.pem']! })
  const verified = await runOnFiles('certtool', whole(own.files), ['--verify-chain', '--infile', 'chain.pem'])
  assert.equal(verified.status, 0, verified.stdout + verified.stderr)
  assert.match(verified.stdout, /Chain verification output: Verified\. The certificate is trusted\./)
  const strangers = whole(mixed(own.files, foreign.files))
  const refused = await runOnFiles('certtool', strangers, ['--verify-chain', '--infile', 'chain.pem'])
  assert.notEqual(refused.status, 0)
  assert.doesNotMatch(refused.stdout, /is trusted/)
  const anchored = ['--verify', '--load-ca-certificate', 'root.pem', '--infile', 'issuing.pem']
  assert.equal((await runOnFiles('certtool', own.files, anchored)).status, 0)
  assert.notEqual((await runOnFiles('certtool', mixed(own.files, foreign.files), anchored)).status, 0)
})

test('certtool reads the same constraints', { skip: without('certtool') }, async (t) => {
  const { own } = await chains(t)
  const show = async (file: string) =>
    (await runOnFiles('certtool', own.files, ['--certificate-info', '--infile', file])).stdout
  const [root, issuing] = [await show('root.pem'), await show('issuing.pem')]
  assert.match(root, /Basic Constraints \(critical\):\s+Certificate Authority \(CA\): TRUE\n/)
  assert.doesNotMatch(root, /Path Length/)
  assert.match(
    issuing,
    /Basic Constraints \(critical\):\s+Certificate Authority \(CA\): TRUE\s+Path Length Constraint: 0/,
  )
  assert.match(issuing, /Key Usage \(critical\):\s+Digital signature\.\s+Certificate signing\.\s+CRL signing\./)
  const publicKey = (text: string) => text.match(/Public Key ID:[\s\S]*sha256:([0-9a-f]{64})/)?.[1]
  assert.equal(publicKey(root), own.anchor.spki_sha256, 'the announced hash of the key is that of GnuTLS')
})
