import assert from 'node:assert/strict'
import { hash, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/support/any-text.ts'
import {
  after,
  deviceId,
  hierarchy,
  hour,
  now,
  openssl,
  spcFields,
  tenantId,
  trustDomain,
  withoutOpenssl,
} from '../../test/support/certificates.ts'
import { importPublic, publicSpki } from '../jwk.ts'
import { generateKey, softwareSigner } from '../signer.ts'
import { readCertificate } from './certificate.ts'
import { keyIdentifier } from './issuer.ts'
import { spcIssuer } from './spc-issue.ts'
import { readSpc, spcVerifier } from './spc-read.ts'
import { spiffeId } from './spiffe-id.ts'

const digest = 'c0'.repeat(32)
const policy = { bundleVersion: 7, channel: 'stable', digest }
const seconds = (date: Date) => new Date(Math.floor(date.getTime() / 1000) * 1000)

test('an issued SPC is read back, for every kind of key, with and without a policy', async () => {
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

test('openssl shows names, usages, constraints, identifiers and URLs of an SPC as written', {
  skip: withoutOpenssl,
}, async () => {
  const crlUrl = 'http://pki.example/issuing.crl'
  const options = { crlUrl, ocspUrl: 'http://pki.example/ocsp', issuerUrl: 'http://pki.example/issuing.cer' }
  const { issuing, issue } = await hierarchy({ ...options, oidArc: '1.3.6.1.4.1.99999' })
  const show = (pem: string) => openssl({ c: pem }, 'x509', '-in', 'c', '-noout', '-text', '-nameopt', 'oneline').stdout
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

test('the policy extension has the documented DER', async () => {
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

test('serial numbers are encoded as DER requires', async () => {
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

test('fields that an SPC cannot hold are refused', async () => {
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

test('any issued SPC is read back and verified', async () => {
  const { issuing, issue } = await hierarchy()
  const { publicJwk } = generateKey('ES256')
  const verify = spcVerifier(issuing.pem)
  const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/)
  const serial = fc.uint8Array({ minLength: 15, maxLength: 15 }).map((rest) => Buffer.of(1, ...rest))
  const some = fc.record({
    bundleVersion: fc.nat(Number.MAX_SAFE_INTEGER),
    channel: anyText({ maxLength: 64 }),
    digest: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  })
  const lifetime = fc.integer({ min: 1000, max: 7 * 24 * hour })
  await fc.assert(
    fc.asyncProperty(id, serial, some, lifetime, async (device, serial, policy, ms) => {
      const fields = { serial, deviceId: device, publicJwk, notBefore: now, notAfter: after(ms), policy }
      const spc = readSpc((await issue(fields)).pem)
      verify(spc)
      assert.deepEqual(spc.policy, { ...policy })
      assert.deepEqual([spc.serial, spc.deviceId], [serial.toString('hex'), device])
      assert.deepEqual([spc.notBefore, spc.notAfter], [seconds(now), seconds(after(ms))])
    }),
  )
})
