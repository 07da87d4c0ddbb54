import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { addressesIn } from '../support/deployment/pki-listener.ts'
import { type Certified, rotated, startFleet, type Trusted, trustedBy } from './fleet.ts'
import { runOnFiles, runTool, without } from './tools.ts'

const skip = without('openssl')

/**
 * The verdict of openssl on a device, as a gateway with these files would reach it: strict, with a CRL for every CA.
 */
async function judge(
  { certificate, chain }: Pick<Certified, 'certificate' | 'chain'>,
  { anchors, intermediates, crls }: Pick<Trusted, 'anchors' | 'intermediates' | 'crls'>,
  ...more: string[]
) {
  const files = {
    'leaf.pem': certificate,
    'anchors.pem': anchors.join(''),
    'untrusted.pem': [...chain, ...intermediates].join(''),
    'crls.pem': crls.join(''),
  }
  const strictly = ['-x509_strict', '-check_ss_sig', '-purpose', 'sslclient', '-crl_check_all']
  const { status, stdout, stderr } = await runOnFiles('openssl', files, [
    ...['verify', ...strictly, '-CAfile', 'anchors.pem', '-untrusted', 'untrusted.pem', '-CRLfile', 'crls.pem'],
    ...[...more, 'leaf.pem'],
  ])
  assert.equal(status === 0, stdout.includes('leaf.pem: OK'))
  return status === 0 ? 'good' : (/error \d+ at \d+ depth lookup: (.*)/.exec(stderr)?.[1] ?? stderr)
}
const unknownIssuer = /unable to get (local )?issuer certificate|self-signed certificate in certificate chain/

test('openssl verify -crl_check_all: a device is good, revoked, expired, foreign', { skip }, async (t) => {
  const { gateway, good, revoked, expired, foreign } = await startFleet(t)
  const trusted = await trustedBy(gateway)
  assert.equal(await judge(good, trusted), 'good')
  assert.equal(await judge(good, { ...trusted, intermediates: [] }), 'good', 'the chain of the device is enough')
  assert.equal(await judge({ ...good, chain: [] }, trusted), 'good', 'so are the intermediates of the gateway')
  const slow = String(Math.floor(Date.now() / 1000) - 240)
  assert.equal(await judge(good, trusted, '-attime', slow), 'good', 'also for a clock that is four minutes slow')
  assert.equal(await judge(revoked, trusted), 'certificate revoked')
  assert.equal(await judge(expired, trusted), 'certificate has expired')
  assert.match(await judge(foreign, trusted), unknownIssuer)
  // Here only the certificate's own period is checked. Its CRL ends no later, and openssl would report that first.
  const end = Date.parse(good.spc.not_after) / 1000
  const files = { leaf: good.certificate, ca: trusted.anchors.join(''), chain: good.chain.join('') }
  const timed = async (second: number) => {
    const args = ['verify', '-CAfile', 'ca', '-untrusted', 'chain', '-attime', String(second), 'leaf']
    return (await runOnFiles('openssl', files, args)).stderr
  }
  assert.equal(await timed(end - 1), '')
  assert.match(await timed(end), /certificate has expired/)
  assert.match(await timed(Date.parse(good.spc.not_before) / 1000 - 1), /certificate is not yet valid/)
})

test('openssl verify -crl_check_all: before, during and after a rotation', { skip }, async (t) => {
  const { good, revoked, expired, foreign, later, before, during, retire, kit, gateway, certify } = await rotated(t)
  const [next, old] = [during.anchors.slice(0, 1), during.anchors.slice(1)]
  assert.deepEqual([during.anchors.length, old], [2, before.anchors])
  const isGood = async (trusted: Trusted, ...devices: Certified[]) => {
    for (const device of devices) assert.equal(await judge(device, trusted), 'good')
    assert.equal(await judge(revoked, trusted), 'certificate revoked')
    assert.equal(await judge(expired, trusted), 'certificate has expired')
    assert.match(await judge(foreign, trusted), unknownIssuer)
  }
  await isGood(before, good)
  await isGood(during, good, later)
  // With only one of the anchors, the chain is built through the cross certificates.
  await isGood({ ...during, anchors: old }, good, later)
  await isGood({ ...during, anchors: next }, good, later)
  assert.match(await judge({ ...later, chain: later.chain.slice(0, 1) }, before), unknownIssuer)
  // A gateway without the rotation has the CRL of the old root only.
  assert.match(await judge(later, before), /unable to get certificate CRL/)

  const after = await retire()
  assert.deepEqual(after.anchors, next)
  assert.equal(await judge(later, after), 'good')
  for (const device of [good, revoked, foreign]) assert.match(await judge(device, after), unknownIssuer)

  const anchor_id = after.set.anchors[0]!.anchor_id
  await kit.admin.rotateTrustAnchors({ body: { mode: 'emergency', anchor_id } })
  const emergency = await trustedBy(gateway)
  assert.match(await judge(later, emergency), unknownIssuer)
  assert.equal(await judge(await certify(), emergency), 'good')
})

test('openssl ocsp asks the listener: good, revoked, never issued, with a nonce and without', { skip }, async (t) => {
  const { kit, good, revoked, certify, gateway } = await startFleet(t)
  const { anchors } = await trustedBy(gateway)
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-ocsp-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  const [, ocsp] = addressesIn(good.certificate).map((url) => new URL(url).pathname)
  writeFileSync(join(cwd, 'root'), anchors[0]!)
  writeFileSync(join(cwd, 'issuing'), good.chain[0]!)
  const run = (...args: string[]) => runTool('openssl', ['ocsp', '-issuer', 'issuing', ...args], { cwd })
  const online = ['-CAfile', 'root', '-url', `${kit.pkiUrl}${ocsp}`]
  for (const nonce of ['-nonce', '-no_nonce'])
    for (const [device, expected] of [
      [good, 'good'],
      [revoked, 'revoked'],
    ] as const) {
      writeFileSync(join(cwd, 'leaf'), device.certificate)
      const asked = await run('-cert', 'leaf', nonce, ...online)
      assert.match(asked.stderr, /Response verify OK/)
      assert.doesNotMatch(asked.stderr, /nonce/i)
      assert.match(asked.stdout, new RegExp(`^leaf: ${expected}$`, 'm'))
      if (device === revoked) assert.match(asked.stdout, /Reason: keyCompromise\s+Revocation Time: /)
      // The same with a request that was prepared before, and is sent unchanged.
      await run('-cert', 'leaf', nonce, '-reqout', 'request')
      const sent = await run('-reqin', 'request', '-respout', 'response', '-resp_text', ...online)
      assert.match(sent.stderr, /Response verify OK/)
      assert.doesNotMatch(sent.stderr, /nonce/i)
      assert.match(sent.stdout, new RegExp(`Cert Status: ${expected}`))
      assert.equal(/OCSP Nonce/.test(sent.stdout), nonce === '-nonce')
    }
  const never = await run('-serial', '0x0123456789abcdef0123456789abcdef', ...online)
  assert.match(never.stdout, /^0x0123456789abcdef0123456789abcdef: unknown$/m)
  assert.match(never.stderr, /Response verify OK/)

  await kit.admin.rotateTrustAnchors({ body: {} })
  writeFileSync(join(cwd, 'leaf'), good.certificate)
  assert.match((await run('-cert', 'leaf', ...online)).stdout, /^leaf: good$/m)
  const later = await certify()
  const [, next] = addressesIn(later.certificate).map((url) => new URL(url).pathname)
  writeFileSync(join(cwd, 'leaf'), later.certificate)
  writeFileSync(join(cwd, 'issuing'), later.chain[0]!)
  // With only the old root, the responder is trusted through the cross certificate.
  writeFileSync(join(cwd, 'chain'), later.chain.join(''))
  const crossed = ['-CAfile', 'root', '-verify_other', 'chain', '-url', `${kit.pkiUrl}${next}`]
  const asked = await run('-cert', 'leaf', ...crossed)
  assert.match(asked.stdout, /^leaf: good$/m)
  assert.match(asked.stderr, /Response verify OK/)
})
