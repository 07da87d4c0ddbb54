import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  after,
  hierarchy,
  hour,
  now,
  openssl,
  rootOf,
  tenantId,
  withoutOpenssl,
  year,
} from '../../test/support/certificates.ts'
import { createCrossCertificate, createRootCertificate, mintSerial } from './ca.ts'
import { readCertificate } from './certificate.ts'
import { verifyChain } from './chain.ts'
import { subjectKeyOf } from './issuer.ts'

type Files = { der: Buffer; pem: string }
const depth = (leaf: Files, intermediates: readonly Files[], anchors: readonly Files[], at = now) =>
  verifyChain(leaf.pem, {
    intermediates: intermediates.map(({ pem }) => pem),
    anchors: anchors.map(({ der }) => der),
    at,
  }).length
const cross = (by: Awaited<ReturnType<typeof rootOf>>, of: Files, days = 30) =>
  createCrossCertificate(by.signer, by.pem, of.pem, {
    serial: mintSerial(),
    notBefore: now,
    notAfter: after(days * 24 * hour),
  })

/** The old hierarchy and the new one, each root certified by the other. */
async function rotated() {
  const [before, next] = [await hierarchy(), await hierarchy()]
  const [newWithOld, oldWithNew] = [await cross(before.root, next.root), await cross(next.root, before.root)]
  return { before, next, newWithOld, oldWithNew }
}

test('who knows only one root accepts what the other one issued through the cross certificate', async () => {
  const { before, next, newWithOld, oldWithNew } = await rotated()
  const [oldSpc, newSpc] = [await before.issue(), await next.issue()]
  assert.equal(depth(newSpc, [next.issuing, newWithOld], [before.root]), 4)
  assert.equal(depth(oldSpc, [before.issuing, oldWithNew], [next.root]), 4)
  assert.throws(() => depth(newSpc, [next.issuing], [before.root]), { code: 'wrong_issuer' })
  assert.throws(() => depth(newSpc, [next.issuing, oldWithNew], [before.root]), { code: 'wrong_issuer' })
  const everything = [before.issuing, next.issuing, newWithOld, oldWithNew]
  assert.equal(depth(newSpc, everything, [before.root, next.root]), 3, 'the short way where there is one')
  assert.throws(() => depth(newSpc, everything, []), { code: 'wrong_issuer' }, 'round and round leads nowhere')
  assert.throws(() => depth(newSpc, [next.issuing, newWithOld], [before.root], after(31 * 24 * hour)), {
    code: 'expired',
  })
})

test('openssl: the same through the cross certificates', { skip: withoutOpenssl }, async () => {
  const { before, next, newWithOld, oldWithNew } = await rotated()
  const [oldSpc, newSpc] = [await before.issue(), await next.issue()]
  const verify = (leaf: Files, intermediates: readonly Files[], anchor: Files) => {
    const untrusted = intermediates.map(({ pem }) => pem).join('')
    const at = String(Math.floor(now.getTime() / 1000) + 1)
    const args = ['verify', '-x509_strict', '-attime', at, '-CAfile', 'anchor', '-untrusted', 'untrusted', 'leaf']
    return openssl({ leaf: leaf.pem, untrusted, anchor: anchor.pem }, ...args).status === 0
  }
  assert.ok(verify(newSpc, [next.issuing, newWithOld], before.root))
  assert.ok(verify(oldSpc, [before.issuing, oldWithNew], next.root))
  assert.ok(!verify(newSpc, [next.issuing], before.root))
  assert.ok(!verify(oldSpc, [before.issuing], next.root))
})

test('through two rotations, and no further', async () => {
  const [first, second, third, fourth] = [await rootOf(), await rootOf(), await rootOf(), await rootOf()]
  const steps = [await cross(first, second), await cross(second, third), await cross(third, fourth)]
  const young = await hierarchy({}, Promise.resolve(third))
  const younger = await hierarchy({}, Promise.resolve(fourth))
  assert.equal(depth(await young.issue(), [young.issuing, ...steps], [first]), 5)
  const spc = await younger.issue()
  assert.throws(() => depth(spc, [younger.issuing, ...steps], [first]), { code: 'wrong_issuer' })
})

test('a cross certificate is of one tenant, ends with either root, and is made by a root', async () => {
  const [before, next, stranger] = [await hierarchy(), await hierarchy(), await hierarchy({ tenant: 'tnt_another' })]
  const made = (by: typeof before.root, of: Files, changed = {}) =>
    createCrossCertificate(by.signer, by.pem, of.pem, {
      serial: mintSerial(),
      notBefore: now,
      notAfter: after(hour),
      ...changed,
    })
  const crossed = readCertificate((await made(before.root, next.root)).der)
  const [old, young] = [readCertificate(before.root.der), readCertificate(next.root.der)]
  assert.deepEqual([crossed.issuer, crossed.subject, crossed.spki], [old.subject, young.subject, young.spki])
  assert.deepEqual(subjectKeyOf(crossed), subjectKeyOf(young))
  await assert.rejects(made(before.root, stranger.root), { code: 'wrong_context' })
  await assert.rejects(made({ ...before.root, signer: next.root.signer }, next.root), { code: 'unknown_key' })
  await assert.rejects(made({ ...before.root, signer: before.issuing.signer }, next.root), { code: 'wrong_type' })
  await assert.rejects(made(before.root, next.root, { notAfter: after(11 * year) }), { code: 'expired' })
  await assert.rejects(made(before.root, next.root, { notBefore: after(-2 * hour) }), { code: 'not_yet_valid' })
  const short = await createRootCertificate(next.root.signer, {
    tenantId,
    serial: mintSerial(),
    notBefore: now,
    notAfter: after(hour),
  })
  await assert.rejects(made(before.root, short, { notAfter: after(hour + 1000) }), { code: 'expired' })
  await assert.rejects(made(before.root, short, { notBefore: after(-1000) }), { code: 'not_yet_valid' })
  await assert.rejects(made({ ...next.root, ...short }, before.root, { notAfter: after(hour + 1000) }), {
    code: 'expired',
  })
})
