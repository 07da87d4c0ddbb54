import {
  createCrl,
  createIssuingCertificate,
  createRootCertificate,
  generateKey,
  mintSerial,
  readCertificateRequest,
  softwareSigner,
  spcIssuer,
} from '@holdfast/crypto'
import { certificateInfo } from '@holdfast/crypto/x509/certificate-info'

const hour = 3_600_000

/** Creates the authorities of a tenant with real keys: root, issuing CA, issued certificates, and revocation lists. */
export async function createAuthorities({ tenantId, now }: { tenantId: string; now: () => Date }) {
  const after = (hours: number) => new Date(now().getTime() + hours * hour)
  const rootSigner = softwareSigner('ca-root', generateKey('ES384').privateJwk)
  const issuingSigner = softwareSigner('ca-issuing', generateKey('ES256').privateJwk)
  const fields = (hours: number) => ({ tenantId, serial: mintSerial(), notBefore: after(-1), notAfter: after(hours) })
  const root = await createRootCertificate(rootSigner, fields(8761))
  const issuing = await createIssuingCertificate(rootSigner, root.pem, issuingSigner.publicJwk, fields(8760))
  const issuer = spcIssuer(issuingSigner, issuing.pem, { trustDomain: 'holdfast.example' })
  const listOf = async (
    { signer, pem }: { signer: typeof rootSigner; pem: string },
    number: number,
    revoked: readonly string[],
    hours: number,
  ) => {
    const entries = revoked.map((serial) => ({ serial, revokedAt: now(), reason: 'keyCompromise' as const }))
    const times = { thisUpdate: now(), nextUpdate: after(hours) }
    const der = await createCrl(signer, pem, { number, ...times, revoked: entries })
    return {
      issuer_id: 'sgn_1',
      issuer: certificateInfo(pem).subject,
      number,
      der: der.toString('base64'),
      this_update: times.thisUpdate.toISOString(),
      next_update: times.nextUpdate.toISOString(),
    }
  }
  return {
    root: root.pem,
    issuing: issuing.pem,
    issuingSerial: certificateInfo(issuing.pem).serial,
    /** The authorities' part of a trust set. */
    inSet: (state: 'active' | 'distrusted' = 'active') => {
      const { serial: _, ...info } = certificateInfo(root.pem)
      return { anchors: [{ anchor_id: 'sgn_1', state, ...info, certificate: root.pem }], intermediates: [issuing.pem] }
    },
    /** Issues a certificate (PEM) for the key of a request, valid for `hours`. */
    issue: (csr: string, { deviceId = 'dev_1', hours = 24 } = {}) =>
      issuer.issue({
        serial: mintSerial(),
        deviceId,
        publicJwk: readCertificateRequest(csr).publicJwk,
        notBefore: after(-0.1),
        notAfter: after(hours),
      }),
    rootList: (number = 1, revoked: readonly string[] = [], hours = 24) =>
      listOf({ signer: rootSigner, pem: root.pem }, number, revoked, hours),
    issuingList: (number = 1, revoked: readonly string[] = [], hours = 24) =>
      listOf({ signer: issuingSigner, pem: issuing.pem }, number, revoked, hours),
  }
}
export type Authorities = Awaited<ReturnType<typeof createAuthorities>>
