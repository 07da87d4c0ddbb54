import type { ProofSigner } from '@holdfast/crypto/dpop'
import type { PrivateJwk } from '@holdfast/crypto/jwk'

/**
 * Returns the key that signs proofs: the caller's own, or that of the state. Throws `TypeError` if there is neither.
 */
export function deviceKey(own: ProofSigner | undefined, kept: PrivateJwk | null): ProofSigner | PrivateJwk {
  const key = own ?? kept
  if (!key)
    throw new TypeError('the state of this device contains no key: open it with the `key` with which it was enrolled')
  return key
}
