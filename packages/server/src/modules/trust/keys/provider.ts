import type { SignerProvider } from '@holdfast/contract/vocabulary'
import { type PublicJwk, type Purpose, remoteSigner, type Signer, type SigningAlg } from '@holdfast/crypto'
import { AppError } from '../../../kernel/app-error.ts'

export type MadeKey = { kid: string; publicJwk: PublicJwk; privateJwe: string | null; signer: Signer }
type StoredKey = { kid: string; purpose: Purpose; publicJwk: PublicJwk; privateJwe: string | null }

/** A place where private keys are made and used. */
export type KeyProvider = {
  name: SignerProvider
  /** Algorithms of the keys that it makes. */
  algs: readonly SigningAlg[]
  make: (purpose: Purpose, alg: SigningAlg) => Promise<MadeKey>
  /**
   * Throws if the key cannot be opened, because it is sealed under another master key. A key in a token is looked up
   * when it signs.
   */
  open: (key: StoredKey) => Promise<Signer>
  /** For a provider where keys outlive their rows. A missing key counts as destroyed. */
  destroy?: (kid: string) => Promise<void>
  stop?: () => Promise<void>
}
/** The first provider that supports the algorithm makes a new key. Every provider opens the keys that it made. */
export type KeyProviders = readonly [KeyProvider, ...KeyProvider[]]

/**
 * The provider of a private key is unavailable, perhaps for a short time. Existing signatures stay valid until then.
 */
export class KeyAwayError extends AppError {
  constructor(cause: Error) {
    super('internal_error', 'a signing key is unavailable: try again shortly', {
      retryAfterSeconds: 5,
      cause,
    })
  }
}

/** Opens a key. If this deployment lacks its provider, its signatures can still be verified, and it cannot sign. */
export async function openKey(providers: KeyProviders, name: SignerProvider, key: StoredKey): Promise<Signer> {
  const provider = providers.find((p) => p.name === name)
  if (provider) return provider.open(key)
  const why = `the key ${key.kid} is in a token, but this deployment is configured without a token (HOLDFAST_PKCS11_LIBRARY)`
  return remoteSigner(key.purpose, key.publicJwk, () => Promise.reject(new KeyAwayError(new Error(why))))
}
