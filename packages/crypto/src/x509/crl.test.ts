import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  after,
  damaged,
  hierarchy,
  hour,
  now,
  openssl,
  orRefused,
  tenantId,
  withoutOpenssl,
  year,
} from '../../test/support/certificates.ts'
import type { SigningAlg } from '../jwk.ts'
import { generateKey, softwareSigner } from '../signer.ts'
import { createRootCertificate, mintSerial } from './ca.ts'
import { readCertificate } from './certificate.ts'
import { certificateInfo } from './certificate-info.ts'
import { readCrl } from './crl-read.ts'
import { createCrl, type RevokedCertificate } from './crl-write.ts'
import { readDer } from './der-read.ts'
import { contextOf, element, integer, sequence, tags, time } from './der-write.ts'
import { authorityKeyIdentifier, extension } from './extensions.ts'
import { subjectKeyOf } from './issuer.ts'
import { oid, oids } from './oids.ts'
import { encodePem } from './pem.ts'
import { type RevocationReason, reasonCodes } from './revocation-reason.ts'
import { algorithmIdentifier, encodeSigned, readSigned, sign } from './signed.ts'
import { readSpc } from './spc-read.ts'

const dates = { thisUpdate: now, nextUpdate: after(24 * hour) }
const second = (date: Date) => new Date(Math.floor(date.getTime() / 1000) * 1000)
const reasons = Object.keys(reasonCodes) as RevocationReason[]
const pem = (der: Buffer) => encodePem('X509 CRL', der)
const revoked = (serial: string, reason: RevocationReason = 'superseded') => ({ serial, revokedAt: now, reason })

test('the entries of a list are read back, of an issuing CA and of a root', async () => {
  const { root, issuing } = await hierarchy()
  const hex = fc.uint8Array({ minLength: 1, maxLength: 19 }).map((some) => Buffer.of(1, ...some).toString('hex'))
  const date = fc.date({ min: new Date('2000-01-01'), max: new Date('2070-01-01'), noInvalidDate: true })
  const entry = fc.record({ serial: hex, revokedAt: date, reason: fc.constantFrom(...reasons) })
  const list = fc.uniqueArray(entry, { selector: ({ serial }) => serial, maxLength: 20 })
  const number = fc.bigInt({ min: 0n, max: 1n << 150n })
  await fc.assert(
    fc.asyncProperty(list, number, fc.constantFrom(root, issuing), async (entries, number, ca) => {
      const crl = readCrl(await createCrl(ca.signer, ca.pem, { ...dates, number, revoked: entries }), ca.der)
      assert.deepEqual(crl, {
        number,
        thisUpdate: second(dates.thisUpdate),
        nextUpdate: second(dates.nextUpdate),
        revoked: new Map(
          entries.map(({ serial, revokedAt, reason }) => [serial, { revokedAt: second(revokedAt), reason }]),
        ),
      })
    }),
    { numRuns: 60 },
  )
})

test('openssl: numbers, times and reasons are as written', { skip: withoutOpenssl }, async () => {
  const { issuing } = await hierarchy()
  const entries = reasons.map((reason, i) => revoked(Buffer.of(0x90 + i, 1).toString('hex'), reason))
  const der = await createCrl(issuing.signer, issuing.pem, { ...dates, number: 258, revoked: entries })
  const { stdout } = openssl({ crl: pem(der) }, 'crl', '-in', 'crl', '-noout', '-text')
  assert.match(stdout, /Version 2 \(0x1\)/)
  assert.match(stdout, /Last Update: Jun {2}1 12:00:00 2026 GMT\s+Next Update: Jun {2}2 12:00:00 2026 GMT/)
  assert.match(stdout, /X509v3 CRL Number: \n\s+258\n/)
  assert.match(stdout, /X509v3 Authority Key Identifier: /)
  const named = stdout.split('Serial Number: ').slice(1)
  assert.deepEqual(
    named.map((text) => [text.slice(0, 4), /Reason Code: \n\s+(.+)\n/.exec(text)?.[1]]),
    [
      ['9001', undefined],
      ['9101', 'Key Compromise'],
      ['9201', 'CA Compromise'],
      ['9301', 'Affiliation Changed'],
      ['9401', 'Superseded'],
      ['9501', 'Cessation Of Operation'],
      ['9601', 'Certificate Hold'],
      ['9701', 'Privilege Withdrawn'],
      ['9801', 'AA Compromise'],
    ],
  )
  const checked = openssl({ crl: pem(der), ca: issuing.pem }, 'crl', '-in', 'crl', '-noout', '-CAfile', 'ca')
  assert.match(checked.stderr, /verify OK/)
})

test('openssl -crl_check_all: good, revoked, expired, and under another root', {
  skip: withoutOpenssl,
}, async () => {
  const { root, issuing, issue } = await hierarchy()
  const foreign = await hierarchy()
  const spc = await issue()
  const listOf = async (ca: typeof root, entries: RevokedCertificate[] = [], nextUpdate = after(48 * hour)) =>
    pem(await createCrl(ca.signer, ca.pem, { thisUpdate: now, nextUpdate, number: 1, revoked: entries }))
  const files = {
    root: root.pem,
    issuing: issuing.pem,
    spc: spc.pem,
    'root.crl': await listOf(root),
    'issuing.crl': await listOf(issuing),
  }
  const verify = (changed: Partial<typeof files> = {}, at = now) => {
    const lists = ['-CRLfile', 'root.crl', '-CRLfile', 'issuing.crl']
    const time = ['-attime', String(Math.floor(at.getTime() / 1000))]
    const args = [
      '-x509_strict',
      '-crl_check_all',
      ...lists,
      ...time,
      '-CAfile',
      'root',
      '-untrusted',
      'issuing',
      'spc',
    ]
    const { status, stdout, stderr } = openssl({ ...files, ...changed }, 'verify', ...args)
    return status === 0
      ? stdout.trim()
      : (/error \d+ at (\d) depth lookup: (.*)/.exec(stderr)?.slice(1).join(': ') ?? stderr)
  }
  assert.equal(verify(), 'spc: OK')
  const { serial, notAfter } = readSpc(spc.der)
  assert.equal(verify({ 'issuing.crl': await listOf(issuing, [revoked(serial)]) }), '0: certificate revoked')
  const { serial: serialNumber } = certificateInfo(issuing.pem)
  assert.equal(
    verify({ 'root.crl': await listOf(root, [revoked(serialNumber, 'cACompromise')]) }),
    '1: certificate revoked',
  )
  assert.equal(verify({}, new Date(notAfter.getTime() - 1000)), 'spc: OK')
  assert.equal(verify({}, notAfter), '0: certificate has expired', 'openssl leaves out the last second')
  assert.equal(verify({ 'issuing.crl': await listOf(issuing, [], after(hour)) }, after(2 * hour)), '0: CRL has expired')
  assert.match(verify({}, after(-hour / 2)), /not yet valid/)
  assert.match(verify({ root: foreign.root.pem }), /unable to get local issuer certificate/)
  assert.match(verify({ 'root.crl': await listOf(foreign.root) }), /1: unable to get certificate CRL/)
})

test('a list is created only by the CA that it names, with a matching key', async () => {
  const { root, issuing } = await hierarchy()
  const fields = { ...dates, number: 1, revoked: [] }
  await assert.rejects(createCrl(softwareSigner('policy', generateKey('ES256').privateJwk), issuing.pem, fields), {
    code: 'wrong_type',
  })
  await assert.rejects(createCrl(root.signer, issuing.pem, fields), { code: 'unknown_key' })
  await assert.rejects(createCrl(issuing.signer, issuing.pem, { ...fields, nextUpdate: now }), { code: 'malformed' })
  for (const serial of ['', '1', 'XX', 'AA', '00'.repeat(21), '01\n'])
    await assert.rejects(createCrl(issuing.signer, issuing.pem, { ...fields, revoked: [revoked(serial)] }), {
      code: 'malformed',
    })
  const swapped = { ...issuing.signer, sign: softwareSigner('ca-issuing', generateKey('ES256').privateJwk).sign }
  await assert.rejects(createCrl(swapped, issuing.pem, fields), { code: 'bad_signature' })
})

test('a list of another CA, or signed by another CA, is refused', async () => {
  const { root, issuing } = await hierarchy()
  const der = await createCrl(issuing.signer, issuing.pem, { ...dates, number: 1, revoked: [revoked('01')] })
  assert.throws(() => readCrl(der, root.pem), { code: 'wrong_issuer' })
  const other = await hierarchy()
  const forged = encodeSigned(await sign(other.issuing.signer, readDer(der, readSigned).tbs))
  assert.throws(() => readCrl(forged, issuing.pem), { code: 'bad_signature' })
  const tooLong = { code: 'malformed', message: 'the CRL is larger than 16 MiB' }
  assert.throws(() => readCrl(Buffer.alloc(16 * 1024 * 1024 + 1), issuing.pem), tooLong)
  // Two roots of one name with different keys.
  const commonName = 'Root CA'
  const twin = async () => {
    const signer = softwareSigner('ca-root', generateKey('ES384').privateJwk)
    const fields = { tenantId, commonName, serial: mintSerial(), notBefore: now, notAfter: after(year) }
    return { signer, ...(await createRootCertificate(signer, fields)) }
  }
  const [one, two] = [await twin(), await twin()]
  const ofOne = await createCrl(one.signer, one.pem, { ...dates, number: 1, revoked: [] })
  assert.throws(() => readCrl(ofOne, two.pem), { code: 'bad_signature' })
  const device = await other.issue()
  assert.throws(() => readCrl(ofOne, device.pem), {
    code: 'wrong_issuer',
    message: 'the key usage of this CA does not allow it to sign CRLs',
  })
})

test('a malformed list is refused, even with a good signature', async () => {
  const { issuing } = await hierarchy()
  const { subject, ...ca } = readCertificate(issuing.pem)
  const key = authorityKeyIdentifier(subjectKeyOf({ subject, ...ca }))
  const number = extension(oids.cRLNumber, false, integer(1))
  const strange = extension(oid('1.2.3.4'), true, Buffer.alloc(0))
  const made = async ({
    version = 1,
    alg = 'ES256' as SigningAlg,
    inEntry = [] as Buffer[],
    extensions = [key, number],
  }) => {
    const entry = sequence(integer(1), time(now), ...(inEntry.length > 0 ? [sequence(...inEntry)] : []))
    const head = sequence(
      integer(version),
      algorithmIdentifier(alg),
      subject,
      time(now),
      time(after(hour)),
      sequence(entry),
    )
    const tbs = sequence(
      readDer(head, (reader) => reader.content(tags.sequence)),
      ...(extensions.length > 0 ? [element(contextOf(0), sequence(...extensions))] : []),
    )
    return encodeSigned(await sign(issuing.signer, tbs))
  }
  const coded = (code: number) => extension(oids.cRLReason, false, element(tags.enumerated, Buffer.of(code)))
  assert.equal(readCrl(await made({}), issuing.pem).revoked.get('01')?.reason, 'unspecified')
  assert.equal(readCrl(await made({ inEntry: [coded(4)] }), issuing.pem).revoked.get('01')?.reason, 'superseded')
  const odd: readonly (readonly [Parameters<typeof made>[0], string])[] = [
    [{ version: 0 }, 'malformed'],
    [{ alg: 'ES384' }, 'malformed'],
    [{ extensions: [] }, 'malformed'],
    [{ extensions: [key] }, 'malformed'],
    [{ extensions: [key, number, strange] }, 'malformed'],
    [{ extensions: [number] }, 'wrong_issuer'],
    [{ extensions: [authorityKeyIdentifier(Buffer.alloc(20)), number] }, 'wrong_issuer'],
    [{ inEntry: [strange] }, 'malformed'],
    [{ inEntry: [coded(7)] }, 'malformed'],
    [{ inEntry: [coded(8)] }, 'malformed'],
  ]
  for (const [i, [what, code]] of odd.entries()) {
    const der = await made(what)
    assert.throws(() => readCrl(der, issuing.pem), { code }, String(i))
  }
})

test('a list with any changed octet, and any random bytes, is refused', async () => {
  const { issuing } = await hierarchy()
  const entries = [revoked('01'), revoked('02', 'unspecified')]
  const der = await createCrl(issuing.signer, issuing.pem, { ...dates, number: 1, revoked: entries })
  const isRead = (some: Uint8Array) =>
    assert.equal(
      orRefused(() => readCrl(some, issuing.pem)),
      undefined,
    )
  fc.assert(fc.property(damaged(der), isRead), { numRuns: 500 })
  fc.assert(fc.property(fc.uint8Array(), isRead))
})

test('a long list is built in time slices from an iterator', async () => {
  const { issuing } = await hierarchy()
  let made = 0
  let pauses = 0
  const slices = {
    isOver: () => made % 1024 === 0,
    next: async () => {
      pauses++
    },
  }
  function* entries() {
    while (made < 20_000) yield revoked((0x010000 + made++).toString(16).padStart(6, '0'))
  }
  const der = await createCrl(issuing.signer, issuing.pem, { ...dates, number: 1, revoked: entries() }, slices)
  assert.equal(pauses, Math.floor(20_000 / 1024) + 3, 'one for each slice; before signing, checking and writing it')
  const crl = readCrl(der, issuing.pem)
  assert.deepEqual([...crl.revoked.keys()].slice(0, 2), ['010000', '010001'])
  assert.equal(crl.revoked.size, 20_000)
})
