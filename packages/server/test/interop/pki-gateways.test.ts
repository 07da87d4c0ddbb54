import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Certified, rotated, startFleet, type Trusted, trustedBy } from './fleet.ts'
import { show, startNginx } from './nginx.ts'
import { judgedByOpenvpn } from './openvpn.ts'
import { judgedByStrongswan } from './strongswan.ts'
import { runOnFiles, without } from './tools.ts'

type Files = Pick<Trusted, 'anchors' | 'intermediates' | 'crls'>
type Judge = (device: Certified, files: Files) => Promise<'good' | 'revoked' | 'foreign'>

const judgedByCerttool: Judge = async ({ certificate, chain }, { anchors, crls }) => {
  const files = { chain: certificate + chain.join(''), anchors: anchors.join(''), crls: crls.join('') }
  const args = ['--verify', '--load-ca-certificate', 'anchors', '--load-crl', 'crls', '--infile', 'chain']
  const { status, stdout } = await runOnFiles('certtool', files, args)
  const [, said = ''] = /Chain verification output: (.*?)\s*$/m.exec(stdout) ?? []
  assert.equal(status === 0, said === 'Verified. The certificate is trusted.', stdout)
  if (status === 0) return 'good'
  return /revoked/.test(said) ? 'revoked' : 'foreign'
}
const judgedByPki: Judge = async ({ certificate, chain }, { anchors, intermediates, crls }) => {
  const cas = [...new Set([...anchors, ...intermediates, ...chain])]
  const { isTrusted, text } = await judgedByStrongswan(certificate, cas, crls)
  if (isTrusted) assert.match(text, /certificate not revoked/)
  if (isTrusted) return 'good'
  return /certificate was revoked on .*, reason: key compromise/.test(text) ? 'revoked' : 'foreign'
}
const judgedByVpn: Judge = async (device, files) => {
  const said = await judgedByOpenvpn(device, files)
  if (said === 'good') return 'good'
  if (said === 'certificate revoked') return 'revoked'
  assert.match(said, /unable to get (local )?issuer certificate|self-signed certificate in certificate chain/)
  return 'foreign'
}

/** Good, revoked and foreign; and all of it before, during and after a rotation. */
async function assertJudges(t: Parameters<typeof rotated>[0], judge: Judge) {
  const { good, revoked, foreign, later, before, during, retire } = await rotated(t)
  const verdicts = async (files: Files, ...devices: Certified[]) => {
    const found = []
    for (const device of devices) found.push(await judge(device, files))
    return found
  }
  assert.deepEqual(await verdicts(before, good, revoked, foreign), ['good', 'revoked', 'foreign'])
  assert.deepEqual(await verdicts(during, good, later, revoked, foreign), ['good', 'good', 'revoked', 'foreign'])
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
  const { good, revoked, foreign, later, before, during, retire } = await rotated(t)
  const after = await retire()
  const [next, old] = [during.anchors.slice(0, 1), during.anchors.slice(1)]
  const phases = [before, during, { ...during, anchors: old }, { ...during, anchors: next }, after]
  const shown = ({ certificate, key }: Certified) => ({ spc: certificate, key })
  const settings = phases.map(({ anchors, crls }) => ({ anchor: anchors.join(''), lists: crls.join('') }))
  const ports = await startNginx(t, shown(good), settings)
  const statuses = async (phase: number, ...devices: Certified[]) => {
    const answers = await Promise.all(devices.map((d) => show(shown(d), ports[phase]!, ...d.chain)))
    return answers.map(({ status }) => status)
  }
  assert.deepEqual(await statuses(0, good, revoked, foreign), [200, 400, 400])
  assert.deepEqual(await statuses(1, good, later, revoked, foreign), [200, 200, 400, 400])
  assert.deepEqual(await statuses(2, later, revoked, foreign), [200, 400, 400])
  assert.deepEqual(await statuses(3, later, foreign), [200, 400])
  assert.deepEqual(await statuses(4, later, good, revoked, foreign), [200, 400, 400, 400])
})

test('certtool refuses what has ended and what has not begun', { skip: without('certtool') }, async (t) => {
  const { gateway, good } = await startFleet(t)
  const { anchors } = await trustedBy(gateway)
  const files = { chain: good.certificate + good.chain.join(''), anchors: anchors.join('') }
  const at = async (text: string, seconds: number) => {
    const time = new Date(Date.parse(text) + seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')
    const args = ['--verify', '--attime', time, '--load-ca-certificate', 'anchors', '--infile', 'chain']
    return (await runOnFiles('certtool', files, args)).stdout
  }
  assert.match(await at(good.spc.not_after, -60), /certificate is trusted/)
  assert.match(await at(good.spc.not_after, 60), /NOT trusted.*expired/)
  assert.match(await at(good.spc.not_before, -60), /NOT trusted.*not yet activated/)
})
