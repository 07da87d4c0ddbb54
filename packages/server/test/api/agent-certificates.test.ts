import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeviceState, enrollDevice, openDevice, VerificationError } from '@holdfast/sdk'
import { open, publish, rule, withGateway } from '../support/actors/gateways.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

async function enrolled(kit: Kit, saved: DeviceState[] = []) {
  const { secret: token } = await kit.admin.generateToken({ body: {} })
  return enrollDevice({
    baseUrl: kit.publicUrl,
    dispatcher: kit.dispatcher,
    token,
    device: { name: 'laptop', platform: 'linux' },
    store: { save: (state) => void saved.push(structuredClone(state)) },
  })
}
const codeOf = (check: () => unknown): unknown => {
  try {
    check()
  } catch (e) {
    if (e instanceof VerificationError) return e.code
    throw e
  }
  return 'good'
}

test('a device keeps a certificate, and a gateway hears within seconds what became of it', {
  timeout: 90_000,
}, async (t) => {
  const kit = await startKit(t)
  await publish(kit, [rule('all', { any: true })])
  const device = await enrolled(kit)
  const gateway = open(kit, await withGateway(kit))
  const stop = new AbortController()
  const { signal } = stop
  const shown: string[] = []
  const numbers: string[] = []
  const errors: unknown[] = []
  const onError = (e: unknown) => void errors.push(e)
  let changes = 0
  const running = Promise.all([
    device.runPolling({
      signal,
      onPolicy: () => {},
      onError,
      slow: 0.1,
      wait: 2,
      onCertificate: (certificate) => void (certificate && shown.push(certificate.spcId)),
    }),
    gateway.runPulling({
      signal,
      onChange: () => void changes++,
      onError,
      onCrls: (crls) => void numbers.push(crls?.lists.map(({ number }) => number).join() ?? ''),
    }),
  ])
  t.after(() => stop.abort())
  await until(async () => shown.length === 1 && numbers.length === 1 && changes > 0)
  const first = device.certificate!

  await t.test('both say that it counts: who asks, and who judges by what it holds', async () => {
    assert.equal(gateway.checkSpc(first.certificate).deviceId, device.id)
    const verdict = await gateway.validateSpc(first.certificate)
    assert.deepEqual([verdict.status, verdict.spc?.spc_id], ['good', first.spcId])
  })
  await t.test('revoked: another list, and no word of it in the policy', async () => {
    const before = changes
    await kit.admin.revokeSpc({ body: { spc_id: first.spcId, reason: 'keyCompromise' } })
    await until(async () => numbers.length === 2)
    assert.equal(
      codeOf(() => gateway.checkSpc(first.certificate)),
      'revoked',
    )
    assert.equal((await gateway.validateSpc(first.certificate)).status, 'revoked')
    assert.equal(changes, before)
    await device.checkCertificate()
    assert.ok(device.isCertificateDue)
    await device.renewCertificate()
  })
  await t.test('suspended and back: there is another one', async () => {
    const { certificate, spcId } = device.certificate!
    const move = (operation: 'suspend' | 'reactivate') =>
      kit.admin.changeDevice({ body: { operation, device_id: device.id } })
    await move('suspend')
    await until(async () => errors.length > 0)
    await move('reactivate')
    await until(async () => device.certificate?.spcId !== spcId)
    await until(async () => codeOf(() => gateway.checkSpc(certificate)) === 'revoked')
    assert.equal(gateway.checkSpc(device.certificate!.certificate).deviceId, device.id)
  })
  await t.test('in an emergency the gateway follows at once, the device with its next set', async () => {
    const { certificate } = device.certificate!
    const [anchor] = (await kit.admin.trustAnchors()).anchors
    await kit.admin.rotateTrustAnchors({ body: { mode: 'emergency', anchor_id: anchor!.anchor_id } })
    await until(async () => codeOf(() => gateway.checkSpc(certificate)) === 'wrong_issuer')
    await device.refreshTrust()
    await device.renewCertificate()
    await until(async () => codeOf(() => gateway.checkSpc(device.certificate!.certificate)) === 'good')
  })
  stop.abort()
  await running
})

test('a process that ended before its answer came gets the same certificate with the next', async (t) => {
  const kit = await startKit(t)
  const saved: DeviceState[] = []
  const device = await enrolled(kit, saved)
  const { spcId } = await device.renewCertificate()
  const asked = saved.find((state) => state.certificateRequest)
  const again = openDevice(asked!, { dispatcher: kit.dispatcher })
  assert.equal((await again.renewCertificate()).spcId, spcId)
  assert.equal((await kit.admin.listSpcs()).items.length, 1)
})

test('who trusts only keys that are compromised begins anew over TLS, when told to', async (t) => {
  // To this machine no TLS is needed.
  const publicUrl = 'http://localhost'
  const kit = await startKit(t, { config: { publicUrl } })
  await publish(kit, [rule('all', { any: true })])
  const device = await enrolled(kit)
  const gateway = open(kit, await withGateway(kit))
  await gateway.pull()
  const [signer] = (await kit.admin.listSigners({ query: { purpose: 'trust-set', state: 'active' } })).items
  await kit.admin.retireSigner({ params: { signer_id: signer!.signer_id }, body: { compromised: true } })
  for (const agent of [device, gateway]) {
    await assert.rejects(agent.refreshTrust(), { name: 'VerificationError', code: 'unknown_key' })
    await agent.repinTrustOverTls()
    assert.equal(await agent.refreshTrust(), false)
  }
  await device.renewCertificate()
  assert.equal(gateway.checkSpc(device.certificate!.certificate).deviceId, device.id)
})
