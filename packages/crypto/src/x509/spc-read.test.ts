import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  damaged,
  deviceId,
  hierarchy,
  orRefused,
  spcFields,
  tenantId,
  trustDomain,
} from '../../test/support/certificates.ts'
import { publicSpki } from '../jwk.ts'
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
import { keyIdentifier } from './issuer.ts'
import { buildName } from './name.ts'
import { oids } from './oids.ts'
import { encodePem } from './pem.ts'
import { encodeSigned, sign } from './signed.ts'
import { defaultOidArc, policyOid } from './spc-policy.ts'
import { readSpc, spcVerifier } from './spc-read.ts'
import { spiffeId } from './spiffe-id.ts'

test('an SPC verifies under the CA that signed it only', async () => {
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

test('a certificate of another version, or with two algorithms, is refused', async () => {
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

/** A certificate signed by the issuing CA, with the given parts in place of those of an SPC. */
async function signedWith({ tenant = tenantId, extensions = [] as readonly Buffer[] }) {
  const { issuing } = await hierarchy()
  const { publicJwk, ...fields } = spcFields()
  const issuer = readCertificate(issuing.pem).subject
  const names = { issuer, subject: buildName(tenant, deviceId) }
  const files = await signCertificate(issuing.signer, { ...fields, ...names, spki: publicSpki(publicJwk), extensions })
  return { ...files, verify: spcVerifier(issuing.pem), issuing }
}

test('a certificate of another shape is refused as SPC', async () => {
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
    'an issuer named in another way than by its key': {
      issuerKey: extension(oids.authorityKeyIdentifier, false, sequence()),
    },
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

test('an issuing CA is accepted for its own tenant only', async () => {
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

test('an SPC file is one certificate of at most 8 KiB, PEM or DER', async () => {
  const { issue } = await hierarchy()
  const { der, pem } = await issue()
  for (const wrong of [
    pem + pem,
    `${pem.trimEnd()}x`,
    pem.slice(1),
    pem.replaceAll('CERTIFICATE', 'X509 CRL'),
    der.toString('base64'),
  ])
    assert.throws(() => readSpc(wrong), { code: 'malformed' })
  for (const wrong of [Buffer.concat([der, Buffer.of(0)]), der.subarray(0, -1), Buffer.alloc(8193), Buffer.alloc(0)])
    assert.throws(() => readSpc(wrong), { code: 'malformed' })
  assert.throws(() => readSpc(Buffer.alloc(8193)), {
    code: 'malformed',
    message: 'the certificate is larger than 8 KiB',
  })
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

test('an SPC with any changed octet does not verify', async () => {
  const { issuing, issue } = await hierarchy()
  const { der } = await issue({ policy: { bundleVersion: 7, channel: 'stable', digest: 'c0'.repeat(32) } })
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
