import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  after,
  damaged,
  hierarchy,
  hour,
  now,
  orRefused,
  rootOf,
  spcFields,
  tenantId,
  trustDomain,
  year,
} from '../../test/support/certificates.ts'
import { publicSpki } from '../jwk.ts'
import { generateKey, softwareSigner } from '../signer.ts'
import { createRootCertificate, mintSerial } from './ca.ts'
import { type Certificate, readCertificate, signCertificate } from './certificate.ts'
import { verifyChain } from './chain.ts'
import {
  authorityKeyIdentifier,
  basicConstraints,
  extension,
  keyUsage,
  keyUsages,
  subjectKeyIdentifier,
} from './extensions.ts'
import { subjectKeyOf } from './issuer.ts'
import { buildName } from './name.ts'
import { oid } from './oids.ts'
import { encodePem } from './pem.ts'
import { spcIssuer } from './spc-issue.ts'

type Files = { der: Buffer; pem: string }
const depth = (leaf: Files, intermediates: readonly Files[], anchors: readonly Files[], at = now) =>
  verifyChain(leaf.pem, {
    intermediates: intermediates.map(({ pem }) => pem),
    anchors: anchors.map(({ der }) => der),
    at,
  }).length
test('an SPC and an issuing CA are accepted under their root, and under no other', async () => {
  const [own, other] = [await hierarchy(), await hierarchy()]
  const spc = await own.issue()
  assert.equal(depth(spc, [own.issuing], [own.root]), 3)
  assert.equal(depth(own.issuing, [], [own.root]), 2)
  assert.equal(depth(spc, [other.issuing, own.issuing], [other.root, own.root]), 3, 'among others')
  for (const [intermediates, anchors] of [
    [[], [own.root]],
    [[own.issuing], []],
    [[own.issuing], [other.root]],
    [[other.issuing], [own.root]],
    [[own.issuing, own.root], [other.root]],
  ] as const)
    assert.throws(() => depth(spc, intermediates, anchors), { code: 'wrong_issuer' })
  const path = verifyChain(spc.der, { intermediates: [own.issuing.der], anchors: [own.root.pem], at: now })
  assert.deepEqual(path, [spc.der, own.issuing.der, own.root.der])
})

test('the ends of time: the first and the last moment count, those beside them do not', async () => {
  const { root, issuing, issue } = await hierarchy()
  const spc = await issue()
  const { notBefore, notAfter } = readCertificate(spc.der)
  const moved = (date: Date, ms: number) => new Date(date.getTime() + ms)
  for (const at of [notBefore, notAfter]) assert.equal(depth(spc, [issuing], [root], at), 3)
  assert.throws(() => depth(spc, [issuing], [root], moved(notBefore, -1)), { code: 'not_yet_valid' })
  assert.throws(() => depth(spc, [issuing], [root], moved(notAfter, 1)), { code: 'expired' })
  assert.throws(() => depth(issuing, [], [root], moved(readCertificate(issuing.der).notAfter, 1)), { code: 'expired' })
  assert.throws(() => depth(root, [], [root], after(11 * year)), { code: 'expired' })
})

test('no time is no time at which a certificate is valid', async () => {
  const { root, issuing } = await hierarchy()
  assert.throws(() => depth(issuing, [], [root], new Date(Number.NaN)), { code: 'not_yet_valid' })
})

test('a CA vouches for nobody of another tenant', async () => {
  const { root, issuing } = await hierarchy()
  const ca = readCertificate(issuing.pem)
  const leaf = await signCertificate(issuing.signer, {
    serial: mintSerial(),
    issuer: ca.subject,
    subject: buildName('tnt_another', 'dev'),
    notBefore: now,
    notAfter: after(hour),
    spki: publicSpki(generateKey('ES256').publicJwk),
    extensions: [basicConstraints({ ca: false }), authorityKeyIdentifier(subjectKeyOf(ca))],
  })
  assert.throws(() => depth(leaf, [issuing], [root]), { code: 'wrong_context' })
})

test('an anchor counts while it is valid', async () => {
  const signer = softwareSigner('ca-root', generateKey('ES384').privateJwk)
  const made = (from: Date, to: Date) =>
    createRootCertificate(signer, { tenantId, commonName: 'Root', serial: mintSerial(), notBefore: from, notAfter: to })
  const wide = await made(after(-hour), after(year))
  const past = await made(after(-hour), after(-hour / 2))
  const root = Promise.resolve({ signer, ...wide })
  const { issuing, issue } = await hierarchy({}, root)
  const spc = await issue()
  assert.equal(depth(spc, [issuing], [wide]), 3)
  assert.throws(() => depth(spc, [issuing], [past]), { code: 'expired' })
  assert.equal(depth(spc, [issuing], [past, wide]), 3, 'the same key in a certificate that is valid')
})

/** A CA certificate that this package would never issue. */
async function oddIssuer(
  root: Awaited<ReturnType<typeof rootOf>>,
  extensions: readonly Buffer[],
  subject = buildName(tenantId, 'Odd CA'),
) {
  const signer = softwareSigner('ca-issuing', generateKey('ES256').privateJwk)
  const above = readCertificate(root.pem)
  const spki = publicSpki(signer.publicJwk)
  const id = Buffer.alloc(20, 5)
  const ids = [subjectKeyIdentifier(id), authorityKeyIdentifier(subjectKeyOf(above))]
  const dates = { notBefore: now, notAfter: after(24 * hour) }
  const names = { issuer: above.subject, subject }
  const files = await signCertificate(root.signer, {
    serial: mintSerial(),
    ...names,
    spki,
    ...dates,
    extensions: [...extensions, ...ids],
  })
  return { signer, ...files }
}

test('only a CA may stand above another certificate, and only so far', async () => {
  const root = await rootOf()
  const under = async (issuing: { signer: typeof root.signer; pem: string }) =>
    spcIssuer(issuing.signer, issuing.pem, { trustDomain }).issue({
      ...spcFields(),
      notBefore: now,
      notAfter: after(hour),
    })
  const signs = keyUsage(keyUsages.keyCertSign)
  const judge = async (...extensions: readonly Buffer[]) => {
    const odd = await oddIssuer(root, extensions)
    const spc = await under(odd)
    return () => depth(spc, [odd], [root])
  }
  assert.equal((await judge(basicConstraints({ ca: true }), signs))(), 3)
  for (const extensions of [
    [basicConstraints({ ca: false }), signs],
    [signs],
    [basicConstraints({ ca: true }), keyUsage(keyUsages.cRLSign | keyUsages.digitalSignature)],
    [basicConstraints({ ca: true })],
  ])
    assert.throws(await judge(...extensions), { code: 'wrong_issuer' })
})

test('a path length is kept: an issuing CA vouches for no CA', async () => {
  const { root, issuing } = await hierarchy()
  const { subject } = readCertificate(issuing.pem)
  const below = generateKey('ES256')
  const signer = softwareSigner('ca-issuing', below.privateJwk)
  const made = await signCertificate(issuing.signer, {
    serial: mintSerial(),
    issuer: subject,
    subject: buildName(tenantId, 'CA of its own'),
    notBefore: now,
    notAfter: after(hour * 2),
    spki: publicSpki(below.publicJwk),
    extensions: [
      ...[basicConstraints({ ca: true }), keyUsage(keyUsages.keyCertSign)],
      authorityKeyIdentifier(subjectKeyOf(readCertificate(issuing.pem))),
    ],
  })
  const spc = await spcIssuer(signer, made.pem, { trustDomain }).issue({
    ...spcFields(),
    notBefore: now,
    notAfter: after(hour),
  })
  assert.throws(() => depth(spc, [made, issuing], [root]), { code: 'wrong_issuer' })
})

test('a forged signature is found on every step', async () => {
  const { root, issuing, issue } = await hierarchy()
  const spc = await issue()
  const certificates: readonly Files[] = [spc, issuing]
  const broken = ({ der }: Files): Files => {
    const other = Buffer.from(der)
    other[other.length - 1]! ^= 1
    return { der: other, pem: encodePem('CERTIFICATE', other) }
  }
  for (const [i] of certificates.entries()) {
    const [leaf, ca] = certificates.map((one, n) => (n === i ? broken(one) : one))
    assert.throws(() => depth(leaf!, [ca!], [root]), { code: 'bad_signature' })
  }
  const asIf = readCertificate(root.pem)
  const impostor = await impostorOf(asIf)
  assert.throws(
    () => depth(spc, [issuing], [impostor]),
    { code: 'bad_signature' },
    'name and key identifier of the root',
  )
  assert.equal(depth(spc, [issuing], [impostor, root]), 3)
})

async function impostorOf({ subject, notBefore, notAfter, ...root }: Certificate) {
  const signer = softwareSigner('ca-root', generateKey('ES384').privateJwk)
  const constraints = [basicConstraints({ ca: true }), keyUsage(keyUsages.keyCertSign)]
  const id = subjectKeyOf({ subject, notBefore, notAfter, ...root })
  return signCertificate(signer, {
    serial: mintSerial(),
    issuer: subject,
    subject,
    notBefore,
    notAfter,
    spki: publicSpki(signer.publicJwk),
    extensions: [...constraints, subjectKeyIdentifier(id), authorityKeyIdentifier(id)],
  })
}

test('a CA of the same name and another key is passed over', async () => {
  const { root, issuing, issue } = await hierarchy()
  const spc = await issue()
  const { subject } = readCertificate(issuing.pem)
  const twin = await oddIssuer(root, [basicConstraints({ ca: true }), keyUsage(keyUsages.keyCertSign)], subject)
  assert.throws(() => depth(spc, [twin], [root]), { code: 'wrong_issuer' })
  assert.equal(depth(spc, [twin, issuing], [root]), 3)
})

test('what must be understood and is not known ends every way', async () => {
  const { root, issuing } = await hierarchy()
  const strange = extension(oid('1.2.3.4'), true, Buffer.alloc(0))
  const odd = await oddIssuer(root, [basicConstraints({ ca: true }), keyUsage(keyUsages.keyCertSign), strange])
  assert.throws(() => depth(odd, [], [root]), { code: 'malformed' })
  assert.equal(depth(issuing, [odd], [root]), 2)
})

test('what can not be read is on no way, and closes none', async () => {
  const { root, issuing, issue } = await hierarchy()
  const spc = await issue()
  const files = (der: Buffer): Files => ({ der, pem: encodePem('CERTIFICATE', der) })
  const cut = files(issuing.der.subarray(0, -1))
  const ecdsaWithSha384 = Buffer.from('06082a8648ce3d040303', 'hex')
  const foreign = Buffer.from(issuing.der)
  for (let at = foreign.indexOf(ecdsaWithSha384); at >= 0; at = foreign.indexOf(ecdsaWithSha384)) foreign[at + 9] = 1
  for (const one of [cut, files(foreign), { der: Buffer.from('x'), pem: 'nonsense' }]) {
    assert.equal(depth(spc, [one, issuing], [one, root]), 3)
    assert.throws(() => depth(spc, [one], [root]), { code: 'wrong_issuer' })
    assert.throws(() => depth(spc, [issuing], [one]), { code: 'wrong_issuer' })
  }
})

test('the work for one leaf is bounded', async () => {
  const { root, issuing, issue } = await hierarchy()
  const spc = await issue()
  const impostors = await Promise.all(Array.from({ length: 16 }, () => impostorOf(readCertificate(issuing.pem))))
  assert.throws(() => depth(spc, impostors, [root]), { code: 'bad_signature' })
  assert.throws(() => depth(spc, [...impostors, issuing], [root]), { code: 'malformed' }, 'more than may be given')
  assert.throws(() => depth(spc, [issuing], Array(17).fill(root)), { code: 'malformed' })
  assert.throws(() => depth(spc, [...impostors.slice(1), issuing], [root, ...impostors.slice(1)]), {
    code: 'bad_signature',
  })
})

test('no octet of a chain can be changed', async () => {
  const { root, issuing, issue } = await hierarchy()
  const spc = await issue()
  const isTaken = (leaf: Buffer, ca: Buffer) =>
    orRefused(() => verifyChain(leaf, { intermediates: [ca], anchors: [root.der], at: now }))
  assert.ok(isTaken(spc.der, issuing.der))
  fc.assert(fc.property(damaged(spc.der), (other) => assert.equal(isTaken(other, issuing.der), undefined)))
  fc.assert(fc.property(damaged(issuing.der), (other) => assert.equal(isTaken(spc.der, other), undefined)))
  fc.assert(fc.property(fc.uint8Array(), (some) => assert.equal(isTaken(Buffer.from(some), issuing.der), undefined)))
})
