import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressesIn } from '../support/deployment/pki-listener.ts'
import { type Certified, rotated, startFleet, type Trusted, trustedBy } from './fleet.ts'
import { show, startNginx } from './nginx.ts'
import { judgedByOpenvpn } from './openvpn.ts'
import { beside, judgedByStrongswan } from './strongswan.ts'
import { runOnFiles, without } from './tools.ts'

type Files = Pick<Trusted, 'anchors' | 'intermediates' | 'crls'>
type Judge = (device: Certified, files: Files) => Promise<'good' | 'revoked' | 'expired' | 'foreign'>

const judgedByCerttool: Judge = async ({ certificate, chain }, { anchors, crls }) => {
  const files = { chain: certificate + chain.join(''), anchors: anchors.join(''), crls: crls.join('') }
  const args = ['--verify', '--load-ca-certificate', 'anchors', '--load-crl', 'crls', '--infile', 'chain']
  const { status, stdout } = await runOnFiles('certtool', files, args)
  const [, said = ''] = /Chain verification output: (.*?)\s*$/m.exec(stdout) ?? []
  assert.equal(status === 0, said === 'Verified. The certificate is trusted.', stdout)
  if (status === 0) return 'good'
  if (/expired/.test(said)) return 'expired'
  return /revoked/.test(said) ? 'revoked' : 'foreign'
}
const judgedByPki: Judge = async ({ certificate, chain }, { anchors, intermediates, crls }) => {
  const cas = [...anchors, ...beside(anchors, [...intermediates, ...chain])]
  const { isTrusted, text } = await judgedByStrongswan(certificate, cas, crls)
  if (isTrusted) assert.match(text, /certificate not revoked/)
  if (isTrusted) return 'good'
  if (/subject certificate invalid \(valid from /.test(text)) return 'expired'
  return /certificate was revoked on .*, reason: key compromise/.test(text) ? 'revoked' : 'foreign'
}
const judgedByVpn: Judge = async (device, files) => {
  const said = await judgedByOpenvpn(device, files)
  if (said === 'good') return 'good'
  if (said === 'certificate revoked') return 'revoked'
  if (said === 'certificate has expired') return 'expired'
  assert.match(said, /unable to get (local )?issuer certificate|self-signed certificate in certificate chain/)
  return 'foreign'
}

/** Good, revoked, expired and foreign; and all of it before, during and after a rotation. */
async function assertJudges(t: Parameters<typeof rotated>[0], judge: Judge) {
  const { good, revoked, expired, foreign, later, before, during, retire } = await rotated(t)
  const verdicts = async (files: Files, ...devices: Certified[]) => {
    const found = []
    for (const device of devices) found.push(await judge(device, files))
    return found
  }
  const bad = [revoked, expired, foreign]
  assert.deepEqual(await verdicts(before, good, ...bad), ['good', 'revoked', 'expired', 'foreign'])
  assert.deepEqual(await verdicts(during, good, later, ...bad), ['good', 'good', 'revoked', 'expired', 'foreign'])
  const [next, old] = [during.anchors.slice(0, 1), during.anchors.slice(1)]
  assert.deepEqual(await verdicts({ ...during, anchors: old }, later), ['good'], 'through the cross certificate')
  const after = await retire()
  assert.deepEqual(after.anchors, next)
  assert.deepEqual(await verdicts(after, later, good), ['good', 'foreign'])
}

test('certtool judges devices before, during and after a rotation', { skip: without('certtool') }, (t) =>
  assertJudges(t, judgedByCerttool),
)

test('strongSwan judges devices before, during and after a rotation', { skip: without('pki') }, (t) =>
  assertJudges(t, judgedByPki),
)

test('OpenVPN judges devices that connect, before, during and after a rotation', { skip: without('openvpn') }, (t) =>
  assertJudges(t, judgedByVpn),
)

test('nginx takes devices that connect, before, during and after a rotation', { skip: without('nginx') }, async (t) => {
  const { kit, good, revoked, expired, foreign, later, before, during, retire } = await rotated(t)
  const after = await retire()
  const [next, old] = [during.anchors.slice(0, 1), during.anchors.slice(1)]
  const phases = [before, during, { ...during, anchors: old }, { ...during, anchors: next }, after]
  const shown = ({ certificate, key }: Certified) => ({ spc: certificate, key })
  const settings = phases.map(({ anchors, crls }) => ({ anchor: anchors.join(''), lists: crls.join('') }))
  const ports = await startNginx(kit, shown(good), settings)
  const statuses = async (phase: number, ...devices: Certified[]) => {
    const answers = await Promise.all(devices.map((d) => show(shown(d), ports[phase]!, ...d.chain)))
    return answers.map(({ status }) => status)
  }
  assert.deepEqual(await statuses(0, good, revoked, expired, foreign), [200, 400, 400, 400])
  assert.deepEqual(await statuses(1, good, later, revoked, expired, foreign), [200, 200, 400, 400, 400])
  assert.deepEqual(await statuses(2, later, revoked, foreign), [200, 400, 400])
  assert.deepEqual(await statuses(3, later, foreign), [200, 400])
  assert.deepEqual(await statuses(4, later, good, revoked, foreign), [200, 400, 400, 400])
})

test('nginx asks the listener by OCSP for what connects', { skip: without('nginx') }, async (t) => {
  const { kit, gateway, good, revoked } = await startFleet(t)
  const { anchors } = await trustedBy(gateway)
  const [, ocsp] = addressesIn(good.certificate).map((url) => new URL(url).pathname)
  const [port] = await startNginx(kit, { spc: good.certificate, key: good.key }, [
    { anchor: [...anchors, ...good.chain].join(''), ocsp: `${kit.pkiUrl}${ocsp}` },
  ])
  const statusOf = async ({ certificate, key, chain }: Certified) =>
    (await show({ spc: certificate, key }, port!, ...chain)).status
  assert.deepEqual([await statusOf(good), await statusOf(revoked)], [200, 400])
})
