import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { damaged, hierarchy, hour, openssl, orRefused, withoutOpenssl } from '../../test/support/certificates.ts'
import { generateKey, softwareSigner } from '../signer.ts'
import { readCertificate } from './certificate.ts'
import { contextOf, element, integer, objectIdentifier, octetString, sequence, tags } from './der-write.ts'
import { extension, keyBits } from './extensions.ts'
import { type CertId, readOcspRequest } from './ocsp-request.ts'
import { type OcspStatus, ocspErrorResponse, ocspResponder } from './ocsp-response.ts'
import { oid, oids } from './oids.ts'
import { type RevocationReason, reasonCodes } from './revocation-reason.ts'
import { readSpc } from './spc-read.ts'

/** openssl compares a response with its own clock. */
const now = new Date()
const nextUpdate = new Date(now.getTime() + hour)
const malformed = { code: 'malformed' }

const certId = ({
  algorithm = oids.sha1 as string,
  bytes = 20,
  serial = 5,
  parameters = sequence().fill(5, 0, 1),
} = {}) =>
  sequence(
    sequence(objectIdentifier(algorithm), parameters),
    octetString(Buffer.alloc(bytes, 1)),
    octetString(Buffer.alloc(bytes, 2)),
    integer(serial),
  )
const request = (ids: readonly Buffer[], ...more: readonly Buffer[]) =>
  sequence(sequence(sequence(...ids.map((id) => sequence(id))), ...more))
const extensions = (...list: readonly Buffer[]) => element(contextOf(2), sequence(...list))
const nonceOf = (size: number) => extensions(extension(oids.ocspNonce, false, octetString(Buffer.alloc(size, 9))))

test('an OCSP request is read with its certificates and nonce, up to its limits', () => {
  const sha1 = certId()
  const sha256 = certId({ algorithm: oids.sha256, bytes: 32, parameters: Buffer.alloc(0) })
  const read = readOcspRequest(request([sha1, sha256], nonceOf(32)))
  assert.deepEqual(
    read.certIds.map(({ der, hashAlgorithm, serial }) => [der, hashAlgorithm, serial]),
    [
      [sha1, 'sha1', '05'],
      [sha256, 'sha256', '05'],
    ],
  )
  assert.deepEqual(read.certIds[0]!.issuerNameHash, Buffer.alloc(20, 1))
  assert.deepEqual(read.certIds[0]!.issuerKeyHash, Buffer.alloc(20, 2))
  assert.deepEqual(read.nonce, Buffer.alloc(32, 9))
  assert.equal(readOcspRequest(request([sha1])).nonce, undefined)
  for (const size of [1, 16, 32, 128]) assert.equal(readOcspRequest(request([sha1], nonceOf(size))).nonce?.length, size)
  for (const size of [0, 129]) assert.throws(() => readOcspRequest(request([sha1], nonceOf(size))), malformed)
  assert.equal(readOcspRequest(request(Array(20).fill(sha1))).certIds.length, 20)
  assert.throws(() => readOcspRequest(request(Array(21).fill(sha1))), malformed)
  assert.throws(() => readOcspRequest(request([])), malformed)
  assert.throws(
    () => readOcspRequest(request([sha1], extensions(extension(oids.ocspNonce, false, Buffer.alloc(4096))))),
    { ...malformed, message: 'the request is larger than 4 KiB' },
  )
})

test('an OCSP request with unknown critical extensions or another structure is refused', () => {
  const sha1 = certId()
  const unknown = extension(oid('1.3.6.1.5.5.7.48.1.4'), false, Buffer.alloc(0))
  const critical = extension(oid('1.3.6.1.5.5.7.48.1.4'), true, Buffer.alloc(0))
  assert.ok(readOcspRequest(request([sha1], extensions(unknown))))
  assert.throws(() => readOcspRequest(request([sha1], extensions(critical))), malformed)
  const version = (n: number) => sequence(sequence(element(contextOf(0), integer(n)), sequence(sequence(sha1))))
  assert.ok(readOcspRequest(version(0)))
  assert.throws(() => readOcspRequest(version(1)), malformed)
  const requestor = element(contextOf(1), element(contextOf(4), sequence()))
  const signature = element(contextOf(0), sequence(sequence(), element(tags.bitString, Buffer.of(0))))
  assert.ok(readOcspRequest(sequence(sequence(requestor, sequence(sequence(sha1))), signature)))
  const single = (extra: Buffer) => sequence(sequence(sequence(sequence(sha1, element(contextOf(0), sequence(extra))))))
  assert.ok(readOcspRequest(single(unknown)))
  assert.throws(() => readOcspRequest(single(critical)), malformed)
  assert.throws(() => readOcspRequest(request([certId({ algorithm: oid('1.2.840.113549.2.5') })])), {
    code: 'bad_algorithm',
  })
  assert.throws(() => readOcspRequest(Buffer.concat([request([sha1]), Buffer.of(0)])), malformed)
})

test('openssl verifies answers: good, revoked for every reason, and unknown, with and without a nonce', {
  skip: withoutOpenssl,
}, async () => {
  const { root, issuing, issue } = await hierarchy()
  const spc = await issue()
  const files = { root: root.pem, issuing: issuing.pem, spc: spc.pem }
  const responder = ocspResponder(issuing.signer, issuing.pem)
  const ask = async (status: OcspStatus, ...how: readonly string[]) => {
    const asked = openssl(files, 'ocsp', ...how, '-issuer', 'issuing', '-cert', 'spc', '-reqout', '-')
    const { certIds, nonce } = readOcspRequest(Buffer.from(asked.stdout, 'latin1'))
    assert.equal(nonce !== undefined, !how.includes('-no_nonce'))
    assert.ok(certIds.every(responder.isIssuerOf))
    assert.deepEqual(
      certIds.map(({ serial }) => serial),
      [readSpc(spc.der).serial],
    )
    const responses = certIds.map((certId) => ({ certId, status, thisUpdate: now, nextUpdate }))
    const response = await responder.respond({ producedAt: now, responses, ...(nonce && { nonce }) })
    const both = { ...files, request: Buffer.from(asked.stdout, 'latin1'), response }
    // With -cert in place of -reqin openssl would compare the nonce with a new one.
    const args = ['-reqin', 'request', '-respin', 'response', '-issuer', 'issuing', '-CAfile', 'root', '-resp_text']
    const { status: code, stdout, stderr } = openssl(both, 'ocsp', ...args)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /Response verify OK/)
    assert.doesNotMatch(stderr, /Nonce Verify error/)
    return stdout
  }
  assert.match(await ask('good'), /Cert Status: good/)
  assert.match(await ask('good', '-no_nonce'), /Cert Status: good/)
  assert.match(await ask('unknown', '-sha256'), /Hash Algorithm: sha256[\s\S]*Cert Status: unknown/)
  for (const reason of Object.keys(reasonCodes) as RevocationReason[]) {
    const text = await ask({ revokedAt: now, reason }, '-no_nonce')
    assert.match(text, /Cert Status: revoked/)
    const [, name, code] = /Revocation Reason: (\S+) \((0x\w+)\)/.exec(text) ?? []
    assert.equal(code && Number(code), reason === 'unspecified' ? undefined : reasonCodes[reason])
    // openssl 3.0 has no names for the last two.
    if (code && name !== '(UNKNOWN)') assert.equal(name, reason)
  }
})

test('openssl refuses the answer of another CA and the answer to another request', {
  skip: withoutOpenssl,
}, async () => {
  const [own, other] = [await hierarchy(), await hierarchy()]
  const spc = await own.issue()
  const files = { root: own.root.pem, issuing: own.issuing.pem, spc: spc.pem }
  const ask = () =>
    Buffer.from(openssl(files, 'ocsp', '-issuer', 'issuing', '-cert', 'spc', '-reqout', '-').stdout, 'latin1')
  const [request, another] = [ask(), ask()]
  const { certIds, nonce } = readOcspRequest(request)
  const answer = (issuing: typeof own.issuing) =>
    ocspResponder(issuing.signer, issuing.pem).respond({
      producedAt: now,
      responses: [{ certId: certIds[0]!, status: 'good', thisUpdate: now, nextUpdate }],
      nonce: nonce!,
    })
  const judge = (request: Buffer, response: Buffer) => {
    const args = ['-reqin', 'request', '-respin', 'response', '-issuer', 'issuing', '-CAfile', 'root']
    return openssl({ ...files, request, response }, 'ocsp', ...args).stderr
  }
  assert.match(judge(request, await answer(own.issuing)), /Response verify OK/)
  assert.match(judge(request, await answer(other.issuing)), /Response Verify Failure|signer certificate not found/)
  assert.match(judge(another, await answer(own.issuing)), /Nonce Verify error/)
})

test('openssl shows the OCSP errors by name', { skip: withoutOpenssl }, () => {
  for (const [error, named] of [
    ['malformedRequest', 'malformedrequest (1)'],
    ['internalError', 'internalerror (2)'],
    ['tryLater', 'trylater (3)'],
    ['unauthorized', 'unauthorized (6)'],
  ] as const) {
    const { stdout } = openssl(
      { response: ocspErrorResponse(error) },
      'ocsp',
      '-respin',
      'response',
      '-resp_text',
      '-noverify',
    )
    assert.ok(stdout.includes(`Responder Error: ${named}`), stdout)
  }
})

test('a responder recognises its own certificates, and signs only with its own key', async () => {
  const [own, other] = [await hierarchy(), await hierarchy()]
  const responder = ocspResponder(own.issuing.signer, own.issuing.pem)
  const foreign: CertId = readOcspRequest(request([certId()])).certIds[0]!
  const { subject, spki } = readCertificate(own.issuing.pem)
  for (const hashAlgorithm of ['sha1', 'sha256'] as const) {
    const issuerNameHash = hash(hashAlgorithm, subject, 'buffer')
    const issuerKeyHash = hash(hashAlgorithm, keyBits(spki), 'buffer')
    assert.ok(responder.isIssuerOf({ ...foreign, hashAlgorithm, issuerNameHash, issuerKeyHash }))
    assert.ok(!responder.isIssuerOf({ ...foreign, hashAlgorithm, issuerNameHash }))
    assert.ok(!responder.isIssuerOf({ ...foreign, hashAlgorithm, issuerKeyHash }))
  }
  assert.throws(() => ocspResponder(own.root.signer, own.root.pem), { code: 'wrong_type' })
  assert.throws(() => ocspResponder(other.issuing.signer, own.issuing.pem), { code: 'unknown_key' })
  const swapped = { ...own.issuing.signer, sign: softwareSigner('ca-issuing', generateKey('ES256').privateJwk).sign }
  const answer = ocspResponder(swapped, own.issuing.pem).respond({ producedAt: now, responses: [] })
  await assert.rejects(answer, { code: 'bad_signature' })
})

test('any bytes are read as an OCSP request or refused', () => {
  const whole = request([certId(), certId({ algorithm: oids.sha256, bytes: 32 })], nonceOf(32))
  const some = fc.oneof(fc.uint8Array(), damaged(whole), fc.constant(randomBytes(4097)))
  fc.assert(
    fc.property(some, (bytes) => {
      const read = orRefused(() => readOcspRequest(bytes))
      assert.ok(!read || read.certIds.length > 0)
    }),
    { numRuns: 1000 },
  )
})
