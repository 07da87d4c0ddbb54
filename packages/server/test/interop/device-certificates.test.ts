import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificatesOfATenant } from './device-certificates.ts'
import { show, startNginx } from './nginx.ts'
import { judgedByStrongswan } from './strongswan.ts'
import { runOnFiles, without } from './tools.ts'

/** The old and the new hierarchy of a tenant; each root is certified by the other. */
async function rotated() {
  const [before, next] = [await certificatesOfATenant(), await certificatesOfATenant()]
  return { before, next, newWithOld: await before.certify(next.root), oldWithNew: await next.certify(before.root) }
}

test('certtool judges device certificates: trusted, revoked, and under a foreign root', {
  skip: without('certtool'),
}, async () => {
  const [own, foreign] = [await certificatesOfATenant(), await certificatesOfATenant()]
  const judge = async (root: string, list: string, ...chain: string[]) => {
    const lists = ['--load-crl', 'list.pem']
    const args = ['--verify', '--load-ca-certificate', 'root.pem', ...lists, '--infile', 'chain.pem']
    const files = { 'root.pem': root, 'list.pem': list, 'chain.pem': chain.join('') }
    const { stdout } = await runOnFiles('certtool', files, args)
    return /Chain verification output: (.*?)\s*$/m.exec(stdout)?.[1]
  }
  const { lists } = own
  assert.equal(await judge(own.root, lists.good, own.spc, own.issuing), 'Verified. The certificate is trusted.')
  assert.match((await judge(own.root, lists.revoked, own.spc, own.issuing)) ?? '', /NOT trusted.*revoked/)
  assert.match((await judge(foreign.root, lists.good, own.spc, own.issuing)) ?? '', /NOT trusted.*issuer is unknown/)
})

test('certtool accepts a chain through the cross certificate, and not without it', {
  skip: without('certtool'),
}, async () => {
  const { before, next, newWithOld, oldWithNew } = await rotated()
  const isTrusted = async (root: string, ...chain: string[]) => {
    const args = ['--verify', '--load-ca-certificate', 'root.pem', '--infile', 'chain.pem']
    return (await runOnFiles('certtool', { 'root.pem': root, 'chain.pem': chain.join('') }, args)).status === 0
  }
  assert.ok(await isTrusted(before.root, next.spc, next.issuing, newWithOld))
  assert.ok(await isTrusted(next.root, before.spc, before.issuing, oldWithNew))
  assert.ok(!(await isTrusted(before.root, next.spc, next.issuing)))
  assert.ok(!(await isTrusted(next.root, before.spc, before.issuing)))
})

test('certtool reads a device certificate and a list as written', { skip: without('certtool') }, async () => {
  const { spc, serial, issuing, lists } = await certificatesOfATenant()
  const run = (...args: string[]) => runOnFiles('certtool', { spc, issuing, list: lists.revoked }, args)
  const text = (await run('--certificate-info', '--infile', 'spc')).stdout
  assert.match(text, /Basic Constraints \(critical\):\s+Certificate Authority \(CA\): FALSE\n/)
  assert.match(text, /Key Usage \(critical\):\s+Digital signature\.\n\s+Key Purpose \(not critical\):/)
  assert.match(text, /Key Purpose \(not critical\):\s+TLS WWW Client\.\s+Ipsec IKE\.\n/)
  assert.match(text, /URI: spiffe:\/\/holdfast\.example\/tenant\/tnt_\w+\/device\/dev_\w+\n/)
  assert.match(text, /Unknown extension 1\.3\.6\.1\.4\.1\.32473\.1\.1 \(not critical\):/)
  const list = (await run('--crl-info', '--infile', 'list')).stdout
  assert.match(list, /Version: 2\n/)
  assert.match(list, /CRL Number \(not critical\): 07\n/)
  assert.match(list, new RegExp(`Revoked certificates \\(1\\):\\s+Serial Number \\(hex\\): ${serial}\n`))
  const verified = await run('--verify-crl', '--load-ca-certificate', 'issuing', '--infile', 'list')
  assert.match(verified.stdout, /Verified\. The certificate is trusted\./)
})

test('strongSwan judges device certificates: good, revoked, foreign, and through cross certificates', {
  skip: without('pki'),
}, async () => {
  const { before: own, next, newWithOld, oldWithNew } = await rotated()
  const cas = [own.root, own.issuing]
  const good = await judgedByStrongswan(own.spc, cas, [own.lists.root, own.lists.good])
  assert.ok(good.isTrusted, good.text)
  assert.match(good.text, /certificate trusted, lifetimes valid, certificate not revoked/)
  const revoked = await judgedByStrongswan(own.spc, cas, [own.lists.root, own.lists.revoked])
  assert.ok(!revoked.isTrusted)
  assert.match(revoked.text, /certificate was revoked on .*, reason: key compromise/)
  assert.ok(!(await judgedByStrongswan(own.spc, [next.root, own.issuing])).isTrusted)
  assert.ok((await judgedByStrongswan(next.spc, [own.root, next.issuing, newWithOld])).isTrusted)
  assert.ok(!(await judgedByStrongswan(next.spc, [own.root, next.issuing])).isTrusted)
  assert.ok((await judgedByStrongswan(own.spc, [next.root, own.issuing, oldWithNew])).isTrusted)
})

test('nginx does mutual TLS with revocation lists, which it needs for every CA of the chain', {
  skip: without('nginx'),
}, async (t) => {
  const [own, foreign] = [await certificatesOfATenant(), await certificatesOfATenant()]
  const { lists } = own
  const [good, revoked, lacking] = await startNginx(t, own, [
    { anchor: own.root, lists: lists.root + lists.good },
    { anchor: own.root, lists: lists.root + lists.revoked },
    { anchor: own.root, lists: lists.good },
  ])
  assert.deepEqual(await show(own, good!, own.issuing), { status: 200, text: 'SUCCESS' })
  const refused = await show(own, revoked!, own.issuing)
  assert.deepEqual([refused.status, /SSL certificate error/.test(refused.text)], [400, true])
  assert.equal((await show(foreign, good!, foreign.issuing)).status, 400)
  assert.equal((await show(own, lacking!, own.issuing)).status, 400, 'without the list of the root')
})

test('nginx with the old root only accepts a device of the new one', { skip: without('nginx') }, async (t) => {
  const { before, next, newWithOld } = await rotated()
  const [port] = await startNginx(t, before, [{ anchor: before.root }])
  assert.equal((await show(next, port!, next.issuing, newWithOld)).status, 200)
  assert.equal((await show(next, port!, next.issuing)).status, 400)
})
