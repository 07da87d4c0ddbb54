import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, hierarchy, hour, now, orRefused, requestOf } from '../../test/support/certificates.ts'
import { generateKey, softwareSigner } from '../signer.ts'
import { readCertificateRequest } from './certificate-request.ts'
import { readCrl } from './crl-read.ts'
import { createCrl } from './crl-write.ts'
import { DerReader, readDer } from './der-read.ts'
import { contextOf, element, integer, objectIdentifier, octetString, sequence, tags } from './der-write.ts'
import { extension } from './extensions.ts'
import { readOcspRequest } from './ocsp-request.ts'
import { oids } from './oids.ts'
import { encodeSigned, readSigned, sign } from './signed.ts'
import { readSpc, spcVerifier } from './spc-read.ts'

const nothing = element(tags.null)

/** Yields the encoding with one more element at the end of each constructed element, also inside extensions. */
function* grown(der: Buffer): Generator<Buffer> {
  const tag = der[0]!
  const content = readDer(der, (reader) => reader.content(tag))
  if (!(tag & 0x20) && !(tag === tags.octetString && content[0] === tags.sequence)) return
  const parts: Buffer[] = []
  for (const reader = new DerReader(content); !reader.isDone; ) parts.push(reader.whole())
  yield element(tag, content, nothing)
  for (const [i, part] of parts.entries())
    for (const other of grown(part)) yield element(tag, ...parts.map((one, n) => (n === i ? other : one)))
}

/** Counts the variants that are accepted: each with a new signature, and those whose signed part is unchanged. */
async function countRead(der: Buffer, signer: Parameters<typeof sign>[0], read: (der: Buffer) => unknown) {
  assert.ok(read(der))
  const isRead = (other: Buffer) => orRefused(() => read(other)) !== undefined
  const { tbs } = readDer(der, readSigned)
  const ofTbs = await Promise.all([...grown(tbs)].map(async (other) => encodeSigned(await sign(signer, other))))
  const around = [...grown(der)].filter((other) => other.includes(tbs))
  assert.ok(around.length >= 2)
  return [ofTbs.filter(isRead).length, around.filter(isRead).length]
}

test('nothing stands behind what belongs into a certificate, but where its issuer is named', async () => {
  const { issuing, issue } = await hierarchy()
  const { der } = await issue({ policy: { bundleVersion: 7, channel: 'stable', digest: 'c0'.repeat(32) } })
  const verify = spcVerifier(issuing.pem)
  // The structure of the key and its algorithm identifier are checked only when the key is used.
  const [named, key] = [1, 2]
  const read = (other: Buffer) => {
    const spc = readSpc(other)
    verify(spc)
    return spc
  }
  assert.deepEqual(await countRead(der, issuing.signer, read), [named + key, 0])
})

test('nothing stands behind what belongs into a list, but where its issuer is named', async () => {
  const { issuing } = await hierarchy()
  const entry = (serial: string) => ({ serial, revokedAt: now, reason: 'superseded' as const })
  const fields = { number: 1, thisUpdate: now, nextUpdate: after(hour), revoked: [entry('01'), entry('02')] }
  const der = await createCrl(issuing.signer, issuing.pem, fields)
  assert.deepEqual(await countRead(der, issuing.signer, (other) => readCrl(other, issuing.pem)), [1, 0])
})

test('nothing stands behind what belongs into a request, but in its subject and what it asks for', async () => {
  const key = generateKey('ES256')
  const der = await requestOf({ key })
  const [subject, attributes] = [5, 1]
  const read = (other: Buffer) => readCertificateRequest(other.toString('base64'))
  assert.deepEqual(await countRead(der, softwareSigner('credential', key.privateJwk), read), [subject + attributes, 0])
})

test('nothing stands behind what belongs into a request of OCSP', () => {
  const hash = octetString(Buffer.alloc(20, 1))
  const certId = sequence(sequence(objectIdentifier(oids.sha1), nothing), hash, hash, integer(5))
  const nonce = sequence(extension(oids.ocspNonce, false, octetString(Buffer.alloc(16, 1))))
  const more = sequence(extension(oids.caIssuers, false, nothing))
  const request = sequence(certId, element(contextOf(0), more))
  const der = sequence(sequence(element(contextOf(0), integer(0)), sequence(request), element(contextOf(2), nonce)))
  assert.ok(readOcspRequest(der))
  for (const other of grown(der))
    assert.equal(
      orRefused(() => readOcspRequest(other)),
      undefined,
      other.toString('hex'),
    )
})
