import type { SignerProvider } from '@holdfast/contract/vocabulary'
import { type PublicJwk, type Purpose, remoteSigner, type Signer, type SigningAlg } from '@holdfast/crypto'
import { AppError } from '../../../kernel/app-error.ts'

export type MadeKey = { kid: string; publicJwk: PublicJwk; privateJwe: string | null; signer: Signer }
type StoredKey = { kid: string; purpose: Purpose; publicJwk: PublicJwk; privateJwe: string | null }

/** Where private keys are made and used. */
export type KeyProvider = {
  name: SignerProvider
  /** Those of the keys that it makes. */
  algs: readonly SigningAlg[]
  make: (purpose: Purpose, alg: SigningAlg) => Promise<MadeKey>
  /** Throws where the key can not be opened: sealed under another master key. A key in a token is looked for when it signs. */
  open: (key: StoredKey) => Promise<Signer>
  /** Where keys outlive their rows. A key that is not there has been destroyed. */
  destroy?: (kid: string) => Promise<void>
  stop?: () => Promise<void>
}
/** New keys are made by the first one that makes keys of their algorithm; the others open what they made. */
export type KeyProviders = readonly [KeyProvider, ...KeyProvider[]]

/** The place of a private key does not answer. It may in a while; what is signed already stays good until then. */
export class KeyAwayError extends AppError {
  constructor(cause: Error) {
    super('internal_error', 'a signing key can not be used at the moment', { retryAfterSeconds: 5, cause })
  }
}

/** Where this deployment has no such provider, what the key signed is verified as before, and it signs nothing. */
export async function openKey(providers: KeyProviders, name: SignerProvider, key: StoredKey): Promise<Signer> {
  const provider = providers.find((p) => p.name === name)
  if (provider) return provider.open(key)
  const why = `the key ${key.kid} is in a token, and this deployment is configured without one (HOLDFAST_PKCS11_LIBRARY)`
  return remoteSigner(key.purpose, key.publicJwk, () => Promise.reject(new KeyAwayError(new Error(why))))
}
