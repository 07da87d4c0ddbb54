import { createPrivateKey } from 'node:crypto'
import {
  createCrl,
  createCrossCertificate,
  createIssuingCertificate,
  createRootCertificate,
  encodePem,
  generateKey,
  mintSerial,
  type RevocationReason,
  readSpc,
  softwareSigner,
  spcIssuer,
} from '@holdfast/crypto'

const hour = 3_600_000
const tenantId = 'tnt_01h455vb4pex5vsknk084sn02q'
const deviceId = 'dev_01h455vb4pex5vsknk084sn02q'
/** External programs use their own clock. */
const from = (ms: number) => new Date(Date.now() + ms)
const dates = (hours: number) => ({ serial: mintSerial(), notBefore: from(-hour), notAfter: from(hours * hour) })

/** A root, an issuing CA, a device certificate with its key, and the CRLs of the two CAs. */
export async function certificatesOfATenant() {
  const root = softwareSigner('ca-root', generateKey('ES384').privateJwk)
  const rootFiles = await createRootCertificate(root, { tenantId, ...dates(10_000) })
  const issuing = softwareSigner('ca-issuing', generateKey('ES256').privateJwk)
  const fields = { tenantId, ...dates(5_000) }
  const issuingFiles = await createIssuingCertificate(root, rootFiles.pem, issuing.publicJwk, fields)
  const device = generateKey('ES256')
  const policy = { bundleVersion: 3, channel: 'stable', digest: 'c0'.repeat(32) }
  const issuer = spcIssuer(issuing, issuingFiles.pem, { trustDomain: 'holdfast.example' })
  const spc = await issuer.issue({ ...dates(24), deviceId, publicJwk: device.publicJwk, policy })
  const { serial } = readSpc(spc.der)

  const listOf = async (signer: typeof root, certificate: string, reason?: RevocationReason) => {
    const revoked = reason ? [{ serial, revokedAt: from(-60_000), reason }] : []
    const list = { number: 7, thisUpdate: from(-60_000), nextUpdate: from(24 * hour), revoked }
    return encodePem('X509 CRL', await createCrl(signer, certificate, list))
  }
  return {
    serial,
    root: rootFiles.pem,
    issuing: issuingFiles.pem,
    spc: spc.pem,
    key: String(createPrivateKey({ key: device.privateJwk, format: 'jwk' }).export({ format: 'pem', type: 'pkcs8' })),
    lists: {
      root: await listOf(root, rootFiles.pem),
      good: await listOf(issuing, issuingFiles.pem),
      revoked: await listOf(issuing, issuingFiles.pem, 'keyCompromise'),
    },
    /** Another root, certified by this one. */
    certify: (other: string) => createCrossCertificate(root, rootFiles.pem, other, dates(100)).then(({ pem }) => pem),
  }
}
export type TenantCertificates = Awaited<ReturnType<typeof certificatesOfATenant>>
