import { createPrivateKey } from 'node:crypto'
import type { TestContext } from 'node:test'
import { encodePem, generateKey } from '@holdfast/crypto'
import { csrFor } from '../support/actors/certificate-requests.ts'
import { enroll, withGateway } from '../support/actors/gateways.ts'
import { createClock, type Kit, startKit } from '../support/deployment/deployment.ts'
import { pkiName } from '../support/deployment/pki-listener.ts'
import { until } from '../support/deployment/wait-until.ts'

/** Issues a device certificate with a new key; both are PEM. */
export async function certify({ client }: Awaited<ReturnType<typeof enroll>>) {
  const { privateJwk } = generateKey('ES256')
  const issued = await client.issueSpc({ body: { csr: await csrFor(privateJwk) } })
  const key = createPrivateKey({ key: privateJwk, format: 'jwk' })
  return { ...issued, key: String(key.export({ format: 'pem', type: 'pkcs8' })) }
}
export type Certified = Awaited<ReturnType<typeof certify>>

const ago = 25 * 3600

/** A deployment with a device, a gateway and a device of another tenant, all created through the API. */
export async function startFleet(t: TestContext) {
  // External programs use their own clock: the expired certificate was issued yesterday.
  const clock = createClock(-ago * 1000)
  const all = await startKit(t, { now: clock.now, config: { pki: { port: 0, url: pkiName } } })
  const kit = { ...all, admin: await all.as('tenant_admin', await all.newTenant()) }
  const device = await enroll(kit, 'laptop', { now: clock.now })
  const expired = await certify(device)
  clock.advance(ago)
  const { client: gateway } = await withGateway(kit)
  const admin = await kit.as('tenant_admin', await kit.newTenant())
  const foreign = await certify(await enroll(kit, 'foreign', { admin }))
  const good = await certify(device)
  const revoked = await certify(device)
  const { number } = (await trustedBy(gateway)).set.crls.at(-1)!
  await kit.admin.revokeSpc({ body: { spc_id: revoked.spc.spc_id, reason: 'keyCompromise' } })
  await until(async () => (await trustedBy(gateway)).set.crls.some((crl) => crl.number > number))
  return { kit, gateway, good, revoked, expired, foreign, certify: () => certify(device) }
}

/** The trust material of a gateway, as PEM files for programs. */
export async function trustedBy(gateway: Kit['admin']) {
  const set = await gateway.gatewayTrustAnchors()
  return {
    set,
    anchors: set.anchors.map(({ certificate }) => certificate),
    intermediates: set.intermediates,
    crls: set.crls.map(({ der }) => encodePem('X509 CRL', Buffer.from(der, 'base64'))),
  }
}
export type Trusted = Awaited<ReturnType<typeof trustedBy>>

/** The trust material of a gateway before, during and after a rotation, with a certificate issued in each phase. */
export async function rotated(t: TestContext) {
  const fleet = await startFleet(t)
  const { kit, gateway } = fleet
  const before = await trustedBy(gateway)
  await kit.admin.rotateTrustAnchors({ body: {} })
  const later = await fleet.certify()
  const during = await trustedBy(gateway)
  const retire = async () => {
    const retiring = (await kit.admin.trustAnchors()).anchors.filter((anchor) => anchor.state === 'retiring')
    const issuing = await kit.admin.listSigners({ query: { purpose: 'ca-issuing', state: 'retiring' } })
    for (const signer_id of [...issuing.items.map((s) => s.signer_id), ...retiring.map((a) => a.anchor_id)])
      await kit.admin.retireSigner({ params: { signer_id }, body: { force: true } })
    return trustedBy(gateway)
  }
  return { ...fleet, before, during, later, retire }
}
