import { hash } from 'node:crypto'
import type { Signer } from '../signer.ts'
import {
  context,
  contextOf,
  element,
  generalizedTime,
  objectIdentifier,
  octetString,
  sequence,
  tags,
} from './der-write.ts'
import { extension, keyBits } from './extensions.ts'
import { readIssuer } from './issuer.ts'
import type { CertId } from './ocsp-request.ts'
import { oids } from './oids.ts'
import { type RevocationReason, reasonCodes } from './revocation-reason.ts'
import { encodeSigned, signChecked } from './signed.ts'

export type OcspStatus = 'good' | 'unknown' | { revokedAt: Date; reason: RevocationReason }
export type OcspAnswer = { certId: CertId; status: OcspStatus; thisUpdate: Date; nextUpdate?: Date }
export type OcspResponse = { producedAt: Date; responses: readonly OcspAnswer[]; nonce?: Uint8Array }
export type OcspResponder = {
  isIssuerOf(certId: CertId): boolean
  respond(response: OcspResponse): Promise<Buffer>
}

/** RFC 6960 §4.2.1. */
const responseStatus = { successful: 0, malformedRequest: 1, internalError: 2, tryLater: 3, unauthorized: 6 } as const
export type OcspError = Exclude<keyof typeof responseStatus, 'successful'>

const encodeStatus = (status: keyof typeof responseStatus) =>
  element(tags.enumerated, Buffer.of(responseStatus[status]))

/** Returns an error response, which has no signature (RFC 6960 §2.3), as DER. */
export const ocspErrorResponse = (error: OcspError): Buffer => sequence(encodeStatus(error))

/**
 * Returns a responder for certificates of this issuing CA. Responses are signed by the CA itself and name it by its key
 * (RFC 6960 §4.2), as DER. Throws `wrong_type` unless the signer is a `ca-issuing` key, `unknown_key` if it is not that
 * of the certificate, `malformed`; `respond` throws `bad_signature`. `isIssuerOf` returns true if a request is about
 * certificates of this CA.
 */
export function ocspResponder(signer: Signer, issuerCertificate: string | Uint8Array): OcspResponder {
  const issuer = readIssuer(signer, issuerCertificate, 'ca-issuing')
  const key = keyBits(issuer.spki)
  const names = (algorithm: CertId['hashAlgorithm']) => ({
    name: hash(algorithm, issuer.subject, 'buffer'),
    key: hash(algorithm, key, 'buffer'),
  })
  const hashes = { sha1: names('sha1'), sha256: names('sha256') }
  const responderId = element(contextOf(2), octetString(hashes.sha1.key))
  return {
    isIssuerOf: ({ hashAlgorithm, issuerNameHash, issuerKeyHash }) =>
      hashes[hashAlgorithm].name.equals(issuerNameHash) && hashes[hashAlgorithm].key.equals(issuerKeyHash),
    async respond({ producedAt, responses, nonce }) {
      const nonceExtension = nonce && sequence(extension(oids.ocspNonce, false, octetString(nonce)))
      const tbs = sequence(
        responderId,
        generalizedTime(producedAt),
        sequence(...responses.map(singleResponse)),
        ...(nonceExtension ? [element(contextOf(1), nonceExtension)] : []),
      )
      const basic = encodeSigned(await signChecked(signer, tbs))
      return sequence(
        encodeStatus('successful'),
        element(contextOf(0), sequence(objectIdentifier(oids.ocspBasic), octetString(basic))),
      )
    },
  }
}

function singleResponse({ certId, status, thisUpdate, nextUpdate }: OcspAnswer): Buffer {
  return sequence(
    certId.der,
    certStatus(status),
    generalizedTime(thisUpdate),
    ...(nextUpdate ? [element(contextOf(0), generalizedTime(nextUpdate))] : []),
  )
}

function certStatus(status: OcspStatus): Buffer {
  if (status === 'good') return element(context(0))
  if (status === 'unknown') return element(context(2))
  const code = element(tags.enumerated, Buffer.of(reasonCodes[status.reason]))
  const reason = status.reason === 'unspecified' ? [] : [element(contextOf(0), code)]
  return element(contextOf(1), generalizedTime(status.revokedAt), ...reason)
}
