import assert from 'node:assert/strict'
import { hash, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { openssl, tenantId, withoutOpenssl, year } from '../../test/support/certificates.ts'
import { importPublic } from '../jwk.ts'
import { generateKey, softwareSigner } from '../signer.ts'
import { createIssuingCertificate, createRootCertificate, mintSerial } from './ca.ts'
import { certificateInfo } from './certificate-info.ts'

const skip = withoutOpenssl
const notBefore = new Date(Date.UTC(2026, 0, 1) + 789)
const rootDates = { notBefore, notAfter: new Date(notBefore.getTime() + 10 * year) }
const issuingDates = { notBefore, notAfter: new Date(notBefore.getTime() + year) }

async function hierarchy() {
  const rootSigner = softwareSigner('ca-root', generateKey('ES384').privateJwk)
  const issuingKey = generateKey('ES256')
  const root = await createRootCertificate(rootSigner, { tenantId, serial: mintSerial(), ...rootDates })
  const fields = { tenantId, serial: mintSerial(), ...issuingDates }
  const issuing = await createIssuingCertificate(rootSigner, root.pem, issuingKey.publicJwk, fields)
  return { rootSigner, issuingKey, root, issuing, fields }
}

function runOpenssl(files: Record<string, string | Buffer>, args: string[]): string {
  const { status, stdout, stderr } = openssl(files, ...args)
  assert.equal(status, 0, stderr)
  return stdout
}

test('node: the chain verifies and the constraints are those of the design', async () => {
  const { root, issuing, rootSigner, issuingKey } = await hierarchy()
  const [rootCert, issuingCert] = [new X509Certificate(root.der), new X509Certificate(issuing.pem)]
  assert.ok(rootCert.verify(importPublic(rootSigner.publicJwk)))
  assert.ok(issuingCert.verify(rootCert.publicKey) && issuingCert.checkIssued(rootCert))
  assert.ok(!rootCert.checkIssued(issuingCert) && rootCert.ca && issuingCert.ca)
  assert.ok(issuingCert.publicKey.equals(importPublic(issuingKey.publicJwk)))
  assert.match(rootCert.subject, new RegExp(`^O=${tenantId}\nCN=Root CA [0-9a-f]{8}$`))
  assert.deepEqual(new X509Certificate(root.pem).raw, root.der)
})

test('openssl: strict verification of the chain', { skip }, async () => {
  const { root, issuing } = await hierarchy()
  const at = String(Math.floor(notBefore.getTime() / 1000) + 3600)
  const args = ['verify', '-x509_strict', '-check_ss_sig', '-attime', at, '-CAfile', 'root.pem', 'issuing.pem']
  assert.equal(runOpenssl({ 'root.pem': root.pem, 'issuing.pem': issuing.pem }, args).trim(), 'issuing.pem: OK')
  const stranger = await hierarchy()
  assert.throws(() => runOpenssl({ 'root.pem': stranger.root.pem, 'issuing.pem': issuing.pem }, args))
})

test('openssl: extensions, names, dates and algorithms as written', { skip }, async () => {
  const { root, issuing } = await hierarchy()
  const show = (pem: string) => runOpenssl({ 'c.pem': pem }, ['x509', '-in', 'c.pem', '-noout', '-text'])
  const rootText = show(root.pem)
  assert.match(rootText, /Basic Constraints: critical\s+CA:TRUE\n/)
  assert.match(rootText, /Key Usage: critical\s+Certificate Sign, CRL Sign\n/)
  assert.match(rootText, /Signature Algorithm: ecdsa-with-SHA384/)
  assert.match(rootText, /NIST CURVE: P-384/)
  assert.match(rootText, /Not Before: Jan {2}1 00:00:00 2026 GMT/)
  const issuingText = show(issuing.pem)
  assert.match(issuingText, /Basic Constraints: critical\s+CA:TRUE, pathlen:0\n/)
  assert.match(issuingText, /Key Usage: critical\s+Digital Signature, Certificate Sign, CRL Sign\n/)
  assert.match(issuingText, /NIST CURVE: P-256/)
  const identifier = (text: string, name: string) =>
    new RegExp(`${name}: ?\\n\\s+(?:keyid:)?([0-9A-F:]{59})`).exec(text)?.[1]
  assert.ok(identifier(rootText, 'Subject Key Identifier'))
  assert.equal(identifier(issuingText, 'Authority Key Identifier'), identifier(rootText, 'Subject Key Identifier'))
  assert.notEqual(identifier(issuingText, 'Subject Key Identifier'), identifier(rootText, 'Subject Key Identifier'))
  // RFC 5758 §3.2: the parameters of an ECDSA signature algorithm are absent, not NULL.
  const asn1 = runOpenssl({ 'c.der': root.der }, ['asn1parse', '-inform', 'DER', '-in', 'c.der'])
  assert.equal(asn1.match(/ecdsa-with-SHA384/g)?.length, 2)
  assert.doesNotMatch(asn1, /prim: NULL/)
})

test('dates after 2049 are GeneralizedTime and come back whole', async () => {
  const signer = softwareSigner('ca-root', generateKey('ES384').privateJwk)
  const dates = { notBefore: new Date('2045-06-01T00:00:00.999Z'), notAfter: new Date('2055-06-01T00:00:00.999Z') }
  const info = certificateInfo((await createRootCertificate(signer, { tenantId, serial: mintSerial(), ...dates })).der)
  assert.equal(info.not_before, '2045-06-01T00:00:00.000Z')
  assert.equal(info.not_after, '2055-06-01T00:00:00.000Z')
})

test('certificate info', async () => {
  const { issuing, issuingKey, fields } = await hierarchy()
  const serial = fields.serial.toString('hex')
  assert.deepEqual(certificateInfo(issuing.pem), {
    subject: `CN=Issuing CA ${serial.slice(0, 8)},O=${tenantId}`,
    spki_sha256: hash('sha256', importPublic(issuingKey.publicJwk).export({ format: 'der', type: 'spki' })),
    not_before: '2026-01-01T00:00:00.000Z',
    not_after: '2027-01-01T00:00:00.000Z',
    serial,
  })
  assert.throws(() => certificateInfo('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'), {
    code: 'malformed',
  })
})

test('only root keys make CAs, roots are on P-384', async () => {
  const { rootSigner, root, issuingKey, fields } = await hierarchy()
  const policy = softwareSigner('policy', generateKey('ES384').privateJwk)
  const small = softwareSigner('ca-root', generateKey('ES256').privateJwk)
  await assert.rejects(createRootCertificate(policy, fields), { code: 'wrong_type' })
  await assert.rejects(createRootCertificate(small, fields), { code: 'bad_algorithm' })
  const issue = (signer = rootSigner, changed = {}) =>
    createIssuingCertificate(signer, root.pem, issuingKey.publicJwk, { ...fields, ...changed })
  await assert.rejects(issue(policy), { code: 'wrong_type' })
  await assert.rejects(issue(softwareSigner('ca-root', generateKey('ES384').privateJwk)), { code: 'unknown_key' })
  await assert.rejects(issue(rootSigner, { tenantId: 'tnt_other' }), { code: 'wrong_context' })
  await assert.rejects(issue(rootSigner, { notAfter: new Date(rootDates.notAfter.getTime() + 1000) }), {
    code: 'expired',
  })
  await assert.rejects(issue(rootSigner, { notBefore: new Date(notBefore.getTime() - 1000) }), {
    code: 'not_yet_valid',
  })
  await assert.rejects(issue(rootSigner, { notAfter: notBefore }), { code: 'malformed' })
  for (const commonName of ['', 'x'.repeat(65)])
    await assert.rejects(issue(rootSigner, { commonName }), { code: 'malformed' })
  for (const serial of [Buffer.alloc(0), Buffer.alloc(16), Buffer.alloc(20, 0xff), Buffer.alloc(21, 1)]) {
    await assert.rejects(issue(rootSigner, { serial }), { code: 'malformed' })
  }
  assert.ok(await issue(rootSigner, { notAfter: rootDates.notAfter }))
})

test('a key store that signs with another key than it announces is caught', async () => {
  const announced = softwareSigner('ca-root', generateKey('ES384').privateJwk)
  const actual = softwareSigner('ca-root', generateKey('ES384').privateJwk)
  const signer = { ...announced, sign: actual.sign }
  await assert.rejects(createRootCertificate(signer, { tenantId, serial: mintSerial(), ...rootDates }), {
    code: 'bad_signature',
  })
})

test('a serial is positive and of full length; a high or zero first byte is encoded as DER demands', async () => {
  for (let i = 0; i < 200; i++) {
    const serial = mintSerial()
    assert.ok(serial.length === 16 && serial.readUInt8(0) >= 0x40 && serial.readUInt8(0) < 0x80)
  }
  const { rootSigner } = await hierarchy()
  for (const [given, read] of [
    ['ff01', 'ff01'],
    ['00007f', '7f'],
    ['0080', '80'],
  ]) {
    const { der } = await createRootCertificate(rootSigner, {
      tenantId,
      serial: Buffer.from(given!, 'hex'),
      ...rootDates,
    })
    assert.equal(certificateInfo(der).serial, read)
  }
})
