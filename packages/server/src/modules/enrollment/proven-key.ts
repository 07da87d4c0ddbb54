import type { Endpoint } from '@holdfast/contract'
import { proofSeconds } from '@holdfast/contract/limits'
import { CryptoError, type PublicJwk, parsePublicJwk, proofKey, thumbprint, verifyProof } from '@holdfast/crypto'
import type { Principal } from '../../kernel/actor.ts'
import { failField, unauthorized } from '../../kernel/app-error.ts'
import { type Origins, ownUrls } from '../../kernel/origins.ts'

export type ProvenKey = {
  jkt: string
  jwk: PublicJwk
  /** Key under which the proof is remembered, so that it counts once. */
  proof: Buffer
}

/** A presented credential, and its DPoP header. */
type Presented = { token: string; proof: unknown }

/** Reads the key that a DPoP header proves for a token. Any invalid proof is the same 401. */
export const createKeyReader =
  ({ origins, now }: { origins: Origins; now: () => Date }) =>
  (
    { token, proof: header }: Presented,
    { method, path }: { method: string; path: Endpoint['path'] },
    expected?: { key: object | undefined; field: string },
  ): ProvenKey | null => {
    if (header === undefined) return null
    if (typeof header !== 'string') return unauthorized()
    try {
      const proof = verifyProof({
        proofs: header,
        method,
        ...ownUrls(path, origins),
        accessToken: token,
        now: now(),
        toleranceSeconds: proofSeconds,
      })
      if (expected?.key && thumbprint(parsePublicJwk(expected.key)) !== proof.jkt)
        failField(expected.field, 'is not the key that the DPoP proof was made with')
      return { jkt: proof.jkt, jwk: proof.publicJwk, proof: proofKey(proof.jkt, proof.jti) }
    } catch (e) {
      if (e instanceof CryptoError) return unauthorized(e)
      throw e
    }
  }
export type ReadKey = ReturnType<typeof createKeyReader>

/** Thumbprint of the key proved by a request with an enrollment token or challenge; null without a proof. */
export const provenKeyBy =
  (readKey: ReadKey) =>
  (
    { presented }: Principal<'enrollment_token' | 'enrollment_challenge'>,
    endpoint: Pick<Endpoint, 'method' | 'path'>,
  ): string | null =>
    readKey(presented, endpoint)?.jkt ?? null
