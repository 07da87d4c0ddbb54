import assert from 'node:assert/strict'
import { createPublicKey, hash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { damaged, openssl, orRefused, requestOf, withoutOpenssl } from '../../test/support/certificates.ts'
import { publicJwkOf, publicSpki, type SigningAlg } from '../jwk.ts'
import { generateKey } from '../signer.ts'
import { readCertificateRequest } from './certificate-request.ts'
import { bitString, element, objectIdentifier, sequence, tags, utf8String } from './der-write.ts'
import { oid } from './oids.ts'
import { encodePem } from './pem.ts'

const base64 = (der: Buffer) => der.toString('base64')
const pem = (der: Buffer) => encodePem('CERTIFICATE REQUEST', der)
const refuses = (text: string, code: string, why?: string) =>
  assert.throws(() => readCertificateRequest(text), { name: 'CryptoError', code }, why)

test('a request is read as PEM, old or new, and as base64 of DER, whatever its line ends', async () => {
  for (const alg of ['ES256', 'ES384', 'Ed25519'] as const) {
    const key = generateKey(alg)
    const der = await requestOf({ key })
    const expected = { publicJwk: key.publicJwk, spkiSha256: hash('sha256', publicSpki(key.publicJwk)) }
    const lines = `\n${base64(der).replace(/.{76}/g, '$&\r\n')}\n`
    const old = pem(der).replaceAll('CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST')
    for (const text of [pem(der), old, pem(der).replaceAll('\n', '\r\n'), ` ${pem(der)}\n`, base64(der), lines])
      assert.deepEqual(readCertificateRequest(text), expected)
  }
})

test('text in front of the block and behind it is passed over (RFC 7468 §2), in every line end', async () => {
  const key = generateKey('ES256')
  const der = await requestOf({ key })
  const printed = 'Certificate Request:\n    Data:\n        Version: 1 (0x0)\n            04:f2:7b:e1\n'
  for (const text of [printed + pem(der), `${pem(der)}x`, `subject: x - y\n\n${pem(der)}\n# the end\n`])
    for (const end of ['\n', '\r\n'])
      assert.deepEqual(readCertificateRequest(text.replaceAll('\n', end)).publicJwk, key.publicJwk)
  const { status, stdout } = withoutOpenssl
    ? { status: 0, stdout: printed + pem(der) }
    : openssl({ 'a.pem': pem(der) }, 'req', '-in', 'a.pem', '-text')
  assert.equal(status, 0)
  assert.deepEqual(readCertificateRequest(stdout).publicJwk, key.publicJwk)
})

test('one request and nothing else', async () => {
  const der = await requestOf()
  refuses(pem(der) + pem(await requestOf()), 'malformed', 'two')
  refuses(pem(Buffer.concat([der, der])), 'malformed', 'two in one block')
  refuses(pem(Buffer.concat([der, Buffer.of(0)])), 'malformed', 'trailing octet')
  refuses(pem(der) + pem(der).split('\n')[0], 'malformed', 'a boundary behind it')
  refuses(`-----END CERTIFICATE REQUEST-----\n${pem(der)}`, 'malformed', 'a boundary in front')
  refuses(`x ${pem(der)}`, 'malformed', 'text in the line of a boundary')
  refuses(`${pem(der).trimEnd()}x`, 'malformed', 'text in the line of the last boundary')
  refuses(pem(der).replace('BEGIN CERTIFICATE REQUEST', 'BEGIN NEW CERTIFICATE REQUEST'), 'malformed', 'two labels')
  refuses(pem(der).replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE'), 'malformed', 'another label')
  refuses(base64(der).slice(0, -4), 'malformed', 'cut off')
  refuses(`${base64(der).slice(0, -1)}-`, 'malformed', 'base64url')
  refuses(der.toString('latin1'), 'malformed', 'DER')
  refuses('', 'malformed')
})

test('at most 8 KiB', async () => {
  const large = (size: number) => requestOf({ attributes: [sequence(utf8String('x'.repeat(size)))] })
  const inside = await large(7900)
  assert.ok(inside.length > 8000 && inside.length <= 8192)
  assert.ok(readCertificateRequest(pem(inside)) && readCertificateRequest(base64(inside)))
  const beyond = await large(8192)
  refuses(pem(beyond), 'malformed')
  refuses(base64(beyond), 'malformed')
  const byItsLength = { code: 'malformed', message: 'the text is too long' }
  for (const huge of ['A', ' ', '-----BEGIN ', '\n', pem(inside)])
    assert.throws(() => readCertificateRequest(huge.repeat(2_000_000 / huge.length)), byItsLength)
})

test('a request of another version', async () => {
  const der = await requestOf()
  const version = der.indexOf(Buffer.from('020100', 'hex'))
  assert.ok(version > 0 && version < 8)
  const other = Buffer.from(der)
  other[version + 2] = 1
  refuses(base64(other), 'malformed')
})

test('what it asks for is not looked at', async () => {
  const key = generateKey('ES256')
  const extensionRequest = oid('1.2.840.113549.1.9.14')
  const asks = sequence(objectIdentifier(extensionRequest), element(tags.set, utf8String('anything')))
  assert.deepEqual(readCertificateRequest(pem(await requestOf({ key, attributes: [asks] }))).publicJwk, key.publicJwk)
})

test('whoever asks holds the key', async () => {
  const stranger = generateKey('ES256')
  refuses(pem(await requestOf({ spki: publicSpki(stranger.publicJwk) })), 'bad_signature')
  refuses(pem(await requestOf({ spki: publicSpki(generateKey('ES384').publicJwk) })), 'bad_signature')
  refuses(pem(await requestOf({ spki: publicSpki(generateKey('Ed25519').publicJwk) })), 'bad_algorithm')
  refuses(pem(await requestOf({ key: generateKey('Ed25519'), spki: publicSpki(stranger.publicJwk) })), 'bad_algorithm')
})

test('a point that is not on its curve, and one that is compressed', async () => {
  const { publicJwk } = generateKey('ES256')
  const spki = publicSpki(publicJwk)
  const off = Buffer.from(spki)
  off[spki.length - 1]! ^= 1
  refuses(pem(await requestOf({ spki: off })), 'malformed')
  const curve = sequence(objectIdentifier(oid('1.2.840.10045.2.1')), objectIdentifier(oid('1.2.840.10045.3.1.7')))
  const parity = 2 + (spki[spki.length - 1]! & 1)
  const compressed = sequence(curve, bitString(Buffer.of(parity, ...spki.subarray(27, 59))))
  assert.ok(createPublicKey({ key: compressed, format: 'der', type: 'spki' }), 'the platform would take it')
  refuses(pem(await requestOf({ spki: compressed })), 'bad_algorithm')
})

test('openssl: requests with every kind of key', { skip: withoutOpenssl }, () => {
  const ec = (curve: string, ...more: string[]) => ['ec', '-pkeyopt', `ec_paramgen_curve:${curve}`, ...more]
  const made = (newkey: readonly string[], ...more: readonly string[]) => {
    const args = ['-newkey', ...newkey, '-nodes', '-keyout', 'key', '-subj', '/CN=dev_another/O=tnt_another']
    const { status, stdout, stderr } = openssl({}, 'req', '-new', ...args, ...more)
    assert.equal(status, 0, stderr)
    return stdout
  }
  const asked = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'subjectAltName=URI:spiffe://x/y']
  const digests = ['-sha256', '-sha384', '-sha512']
  const taken: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ...digests.map((digest) => ['P-256', ec('P-256'), [digest]] as const),
    ...digests.map((digest) => ['P-384', ec('P-384'), [digest]] as const),
    ['Ed25519', ['ed25519'], []],
    ['P-256', ec('P-256'), asked],
  ]
  for (const [crv, newkey, more] of taken) {
    const { publicJwk, spkiSha256 } = readCertificateRequest(made(newkey, ...more))
    assert.equal(publicJwk.crv, crv)
    assert.equal(spkiSha256, hash('sha256', publicSpki(publicJwk)))
  }
  const refused = [
    made(['rsa:1024']),
    made(['rsa:3072']),
    made(ec('P-521')),
    made(ec('secp256k1')),
    made(ec('P-256', '-pkeyopt', 'ec_param_enc:explicit')),
    made(['ed448']),
    made(ec('P-256'), '-sha1'),
  ]
  for (const text of refused) refuses(text, 'bad_algorithm', text)
})

test('no change of an octet leaves a request that is taken; no text is an accident', async () => {
  const key = generateKey('ES256')
  const der = await requestOf({ key })
  fc.assert(
    fc.property(damaged(der), (other) =>
      assert.equal(
        orRefused(() => readCertificateRequest(base64(other))),
        undefined,
      ),
    ),
    { numRuns: 400 },
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.base64String(),
        fc.uint8Array().map((some) => pem(Buffer.from(some))),
      ),
      (text) =>
        assert.equal(
          orRefused(() => readCertificateRequest(text)),
          undefined,
        ),
    ),
  )
})

test('a public key and its SubjectPublicKeyInfo', () => {
  for (const alg of ['ES256', 'ES384', 'Ed25519'] satisfies SigningAlg[]) {
    const { publicJwk } = generateKey(alg)
    const spki = publicSpki(publicJwk)
    assert.deepEqual(spki, createPublicKey({ key: publicJwk, format: 'jwk' }).export({ format: 'der', type: 'spki' }))
    assert.deepEqual(publicJwkOf(spki), publicJwk)
    for (const wrong of [spki.subarray(1), Buffer.concat([spki, Buffer.of(0)]), spki.subarray(0, -1), Buffer.alloc(0)])
      assert.throws(() => publicJwkOf(wrong), { code: 'bad_algorithm' })
  }
})
