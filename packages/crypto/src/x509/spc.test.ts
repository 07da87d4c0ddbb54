import assert from 'node:assert/strict'
import { hash, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { importPublic, publicSpki } from '../jwk.ts'
import { generateKey, softwareSigner } from '../signer.ts'
import { readCertificate, signCertificate } from './certificate.ts'
import { context, element, sequence } from './der-write.ts'
import {
  authorityKeyIdentifier,
  basicConstraints,
  extendedKeyUsage,
  extension,
  keyUsage,
  keyUsages,
  uriAltName,
} from './extensions.ts'
import {
  after,
  damaged,
  deviceId,
  hierarchy,
  now,
  openssl,
  orRefused,
  spcFields,
  tenantId,
  trustDomain,
  withoutOpenssl,
} from './fixture.ts'
import { keyIdentifier } from './issuer.ts'
import { buildName } from './name.ts'
import { oids } from './oids.ts'
import { encodePem } from './pem.ts'
import { encodeSigned, sign } from './signed.ts'
import { spcIssuer } from './spc-issue.ts'
import { defaultOidArc, policyOid } from './spc-policy.ts'
import { readSpc, spcVerifier } from './spc-read.ts'
import { spiffeId } from './spiffe-id.ts'

const digest = 'c0'.repeat(32)
const policy = { bundleVersion: 7, channel: 'stable', digest }
const seconds = (date: Date) => new Date(Math.floor(date.getTime() / 1000) * 1000)

test('what is issued is read back: every kind of key, with and without a policy', async () => {
  const { issuing, issue } = await hierarchy()
  for (const alg of ['ES256', 'ES384', 'Ed25519'] as const)
    for (const held of [policy, undefined]) {
      const fields = { ...spcFields(alg), ...(held && { policy: held }) }
      const { der, pem } = await issue(fields)
      const { certificate, ...spc } = readSpc(der)
      assert.deepEqual(spc, {
        serial: Buffer.from(fields.serial).toString('hex'),
        issuerKeyIdentifier: keyIdentifier(issuing.pem),
        spiffeId: `spiffe://${trustDomain}/tenant/${tenantId}/device/${deviceId}`,
        tenantId,
        deviceId,
        subject: `CN=${deviceId},O=${tenantId}`,
        notBefore: seconds(fields.notBefore),
        notAfter: seconds(fields.notAfter),
        spkiSha256: hash('sha256', publicSpki(fields.publicJwk)),
        fingerprintSha256: hash('sha256', der),
        ...(held && { policy: held }),
      })
      assert.deepEqual(readSpc(pem), { ...spc, certificate })
      spcVerifier(issuing.der)(readSpc(pem))
      const platform = new X509Certificate(pem)
      assert.deepEqual(platform.raw, der)
      assert.ok(platform.verify(importPublic(issuing.signer.publicJwk)) && !platform.ca)
      assert.ok(platform.publicKey.equals(importPublic(fields.publicJwk)))
      assert.equal(platform.fingerprint256.replaceAll(':', '').toLowerCase(), spc.fingerprintSha256)
    }
})

test('openssl: names, usages, constraints, identifiers and pointers as written', { skip: withoutOpenssl }, async () => {
  const crlUrl = 'http://pki.example/issuing.crl'
  const options = { crlUrl, ocspUrl: 'http://pki.example/ocsp', issuerUrl: 'http://pki.example/issuing.cer' }
  const { issuing, issue } = await hierarchy({ ...options, oidArc: '1.3.6.1.4.1.99999' })
  const show = (pem: string) => openssl({ c: pem }, 'x509', '-in', 'c', '-noout', '-text').stdout
  const { pem } = await issue({ policy })
  const text = show(pem)
  assert.match(text, new RegExp(`Subject: O = ${tenantId}, CN = ${deviceId}\n`))
  assert.match(text, /Not Before: Jun {2}1 11:55:00 2026 GMT\s+Not After : Jun {2}2 12:00:00 2026 GMT/)
  assert.match(text, /Basic Constraints: critical\s+CA:FALSE\n/)
  assert.match(text, /X509v3 Key Usage: critical\s+Digital Signature\n/)
  assert.match(text, /Extended Key Usage: \n\s+TLS Web Client Authentication, ipsec Internet Key Exchange\n/)
  assert.match(text, new RegExp(`Alternative Name: \n\\s+URI:${spiffeId(trustDomain, tenantId, deviceId)}\n`))
  assert.match(text, /CRL Distribution Points: \n\s+Full Name:\n\s+URI:http:\/\/pki\.example\/issuing\.crl\n/)
  assert.match(
    text,
    /OCSP - URI:http:\/\/pki\.example\/ocsp\n\s+CA Issuers - URI:http:\/\/pki\.example\/issuing\.cer\n/,
  )
  assert.match(text, /\n\s+1\.3\.6\.1\.4\.1\.99999\.1\.1: \n/)
  assert.match(text, /Signature Algorithm: ecdsa-with-SHA256/)
  const identifier = /Authority Key Identifier: \n\s+([0-9A-F:]{59})/.exec(text)?.[1]
  assert.equal(identifier?.replaceAll(':', '').toLowerCase(), keyIdentifier(issuing.pem))
  assert.deepEqual(readSpc(pem, { oidArc: '1.3.6.1.4.1.99999' }).policy, policy)
  assert.equal(readSpc(pem).policy, undefined, 'under another arc it is not ours')
  const bare = show(await (await hierarchy()).issue().then((files) => files.pem))
  assert.doesNotMatch(bare, /Distribution|Information Access|1\.3\.6\.1\.4\.1/)
})

test('the policy extension is the DER that is announced', async () => {
  const { issue } = await hierarchy()
  const { der } = await issue({ policy: { bundleVersion: 300, channel: 'beta', digest } })
  const expected = [
    '060a2b0601040181fd590101', // 1.3.6.1.4.1.32473.1.1, and behind it no `critical`
    '043c',
    '303a',
    '020101',
    '0202012c',
    '0c0462657461',
    '0609608648016503040201', // SHA-256
    `0420${digest}`,
  ].join('')
  assert.ok(der.toString('hex').includes(expected))
})

test('serial numbers', async () => {
  const { issue } = await hierarchy()
  for (const [given, read] of [
    ['0190b3c4d5e67f8899aabbccddeeff00', '0190b3c4d5e67f8899aabbccddeeff00'],
    ['ff90b3c4d5e67f8899aabbccddeeff00', 'ff90b3c4d5e67f8899aabbccddeeff00'],
    ['0000000000000000000000000000007f', '7f'],
    ['00000000000000000000000000000080', '80'],
  ] as const)
    assert.equal(readSpc((await issue({ serial: Buffer.from(given, 'hex') })).der).serial, read)
  for (const serial of [Buffer.alloc(16), Buffer.alloc(0), Buffer.alloc(21, 1), Buffer.alloc(20, 0xff)])
    await assert.rejects(issue({ serial }), { code: 'malformed' })
})

test('an SPC is valid within its issuing CA only', async () => {
  const { issuing, issue } = await hierarchy()
  const ca = readCertificate(issuing.pem)
  const moved = (date: Date, ms: number) => new Date(date.getTime() + ms)
  assert.ok(await issue({ notBefore: ca.notBefore, notAfter: moved(ca.notAfter, 999) }), 'fractions do not count')
  await assert.rejects(issue({ notAfter: moved(ca.notAfter, 1000) }), { code: 'expired' })
  await assert.rejects(issue({ notBefore: moved(ca.notBefore, -1) }), { code: 'not_yet_valid' })
  await assert.rejects(issue({ notBefore: now, notAfter: after(-1000) }), { code: 'malformed' })
  await assert.rejects(issue({ notBefore: now, notAfter: after(200) }), { code: 'malformed' }, 'the same second')
})

test('what cannot stand in an SPC is refused', async () => {
  const { root, issuing, issue } = await hierarchy()
  for (const other of ['', 'a/b', 'ü', 'x'.repeat(65), 'a b', '..', 'a\0'])
    await assert.rejects(issue({ deviceId: other }), { code: 'malformed' }, other)
  for (const wrong of [
    { ...policy, digest: 'c0' },
    { ...policy, digest: 'C0'.repeat(32) },
  ])
    await assert.rejects(issue({ policy: wrong }), { code: 'malformed' })
  const make = (signer = issuing.signer, certificate = issuing.pem, options = {}) =>
    spcIssuer(signer, certificate, { trustDomain, ...options })
  assert.throws(() => make(root.signer, root.pem), { code: 'wrong_type' })
  const stranger = softwareSigner('ca-issuing', generateKey('ES256').privateJwk)
  assert.throws(() => make(stranger), { code: 'unknown_key' })
  assert.throws(() => make(issuing.signer, issuing.pem, { oidArc: '2.25.340282366920938463463374607' }), RangeError)
  assert.throws(() => make(issuing.signer, issuing.pem, { crlUrl: 'http://pki.example/a b' }), { code: 'malformed' })
  await assert.rejects(make(issuing.signer, issuing.pem, { trustDomain: 'No' }).issue(spcFields()), {
    code: 'malformed',
  })
  const swapped = { ...issuing.signer, sign: stranger.sign }
  await assert.rejects(make(swapped).issue(spcFields()), { code: 'bad_signature' })
})

test('an SPC is of the CA that signed it, and of no other', async () => {
  const { issuing, issue } = await hierarchy()
  const { der } = await issue()
  const verify = spcVerifier(issuing.pem)
  verify(readSpc(der))
  const stranger = await hierarchy()
  const strangers = await stranger.issue()
  assert.throws(() => verify(readSpc(strangers.der)), { code: 'wrong_issuer' })
  assert.throws(() => spcVerifier(stranger.issuing.pem)(readSpc(der)), { code: 'wrong_issuer' })
  const forged = encodeSigned(await sign(stranger.issuing.signer, readCertificate(der).signed.tbs))
  assert.throws(() => verify(readSpc(forged)), { code: 'bad_signature' })
  const [mine, other] = [readSpc(der), readSpc((await issue()).der)]
  const mixed = { ...other.certificate.signed, signature: mine.certificate.signed.signature }
  assert.throws(() => verify({ ...other, certificate: { ...other.certificate, signed: mixed } }), {
    code: 'bad_signature',
  })
})

test('a certificate of another version, or with two algorithms, is not read, whoever signed it', async () => {
  const { issuing, issue } = await hierarchy()
  const { tbs } = readCertificate((await issue()).der).signed
  const changed = async (from: string, to: string) => {
    const hex = tbs.toString('hex')
    assert.ok(hex.includes(from))
    return encodeSigned(await sign(issuing.signer, Buffer.from(hex.replace(from, to), 'hex')))
  }
  const same = await changed('a003020102', 'a003020102')
  assert.equal(readSpc(same).deviceId, deviceId)
  for (const [from, to] of [
    ['a003020102', 'a003020101'],
    ['06082a8648ce3d040302', '06082a8648ce3d040303'],
  ] as const)
    await assert.rejects(async () => readSpc(await changed(from, to)), { code: 'malformed' })
})

/** A certificate that the issuing CA signed, with what is given in place of what an SPC has. */
async function signedWith({ tenant = tenantId, extensions = [] as readonly Buffer[] }) {
  const { issuing } = await hierarchy()
  const { publicJwk, ...fields } = spcFields()
  const issuer = readCertificate(issuing.pem).subject
  const names = { issuer, subject: buildName(tenant, deviceId) }
  const files = await signCertificate(issuing.signer, { ...fields, ...names, spki: publicSpki(publicJwk), extensions })
  return { ...files, verify: spcVerifier(issuing.pem), issuing }
}

test('a certificate of another shape is no SPC, whoever signed it', async () => {
  const shape = {
    constraints: basicConstraints({ ca: false }),
    usage: keyUsage(keyUsages.digitalSignature),
    uses: extendedKeyUsage(oids.clientAuth),
    issuerKey: authorityKeyIdentifier(Buffer.alloc(20, 1)),
    name: uriAltName(spiffeId(trustDomain, tenantId, deviceId)),
  }
  const made = async (changed: Record<string, Buffer>, tenant = tenantId) => {
    const extensions = Object.values({ ...shape, ...changed }).filter(({ length }) => length > 0)
    return (await signedWith({ tenant, extensions })).der
  }
  assert.equal(readSpc(await made({})).deviceId, deviceId)
  const none = Buffer.alloc(0)
  const dns = extension(oids.subjectAltName, false, sequence(element(context(2), Buffer.from('holdfast.example'))))
  const wrong: Record<string, Record<string, Buffer>> = {
    'a CA': { constraints: basicConstraints({ ca: true }) },
    'a key that signs certificates': { usage: keyUsage(keyUsages.digitalSignature | keyUsages.keyCertSign) },
    'a certificate of a server': { uses: extendedKeyUsage(oids.ipsecIKE) },
    'a DNS name': { name: dns },
    'the id of something else': { name: uriAltName(`spiffe://${trustDomain}/gateway/${deviceId}`) },
    'the id of another device': { name: uriAltName(spiffeId(trustDomain, tenantId, 'dev_another')) },
    'the id of another tenant': { name: uriAltName(spiffeId(trustDomain, 'tnt_another', deviceId)) },
    'an extension that must be understood': { more: extension(oids.cRLReason, true, none) },
    'an extension twice': { more: shape.uses },
    'a policy that is none': { more: extension(policyOid(defaultOidArc), false, sequence()) },
    ...Object.fromEntries(Object.keys(shape).map((name) => [`no ${name}`, { [name]: none }])),
  }
  for (const [what, changed] of Object.entries(wrong))
    await assert.rejects(async () => readSpc(await made(changed)), { code: 'malformed' }, what)
  await assert.rejects(async () => readSpc(await made({}, 'tnt_another')), { code: 'malformed' })
  const { root, issuing } = await hierarchy()
  for (const ca of [root.pem, issuing.pem, root.der]) assert.throws(() => readSpc(ca), { code: 'malformed' })
})

test('an issuing CA vouches for its own tenant only', async () => {
  const { der, verify, issuing } = await signedWith({
    tenant: 'tnt_another',
    extensions: [
      basicConstraints({ ca: false }),
      keyUsage(keyUsages.digitalSignature),
      extendedKeyUsage(oids.clientAuth),
      uriAltName(spiffeId(trustDomain, 'tnt_another', deviceId)),
      authorityKeyIdentifier(Buffer.alloc(20, 1)),
    ],
  })
  assert.throws(() => verify(readSpc(der)), { code: 'wrong_issuer' }, 'it names another key than that of its issuer')
  const spc = { ...readSpc(der), issuerKeyIdentifier: keyIdentifier(issuing.pem) }
  assert.throws(() => verify(spc), { code: 'wrong_context' })
})

test('what is read is at most 8 KiB, one certificate, PEM or DER', async () => {
  const { issue } = await hierarchy()
  const { der, pem } = await issue()
  for (const wrong of [
    pem + pem,
    `${pem}x`,
    pem.slice(1),
    pem.replaceAll('CERTIFICATE', 'X509 CRL'),
    der.toString('base64'),
  ])
    assert.throws(() => readSpc(wrong), { code: 'malformed' })
  for (const wrong of [Buffer.concat([der, Buffer.of(0)]), der.subarray(0, -1), Buffer.alloc(8193), Buffer.alloc(0)])
    assert.throws(() => readSpc(wrong), { code: 'malformed' })
  assert.deepEqual(readSpc(new Uint8Array(der)), readSpc(der), 'bytes that are no Buffer')
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.uint8Array().map((some) => encodePem('CERTIFICATE', some)),
        fc.string(),
      ),
      (some) =>
        assert.equal(
          orRefused(() => readSpc(some)),
          undefined,
        ),
    ),
  )
})

test('no octet can be changed: what is still read is not verified', async () => {
  const { issuing, issue } = await hierarchy()
  const { der } = await issue({ policy })
  const verify = spcVerifier(issuing.pem)
  fc.assert(
    fc.property(damaged(der), (other) =>
      assert.equal(
        orRefused(() => verify(readSpc(other)) ?? 'verified'),
        undefined,
        other.toString('hex'),
      ),
    ),
    { numRuns: 1000 },
  )
})
