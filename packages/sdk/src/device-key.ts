import type { ProofSigner } from '@holdfast/crypto/dpop'
import type { PrivateJwk } from '@holdfast/crypto/jwk'

/**
 * The key that proves requests: the caller's own, or the one of the state. Throws `TypeError` where there is neither.
 */
export function deviceKey(own: ProofSigner | undefined, kept: PrivateJwk | null): ProofSigner | PrivateJwk {
  const key = own ?? kept
  if (!key)
    throw new TypeError('the state of this device holds no key: open it with the `key` that it was enrolled with')
  return key
}
