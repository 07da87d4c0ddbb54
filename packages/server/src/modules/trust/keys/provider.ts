import type { SignerProvider } from '@holdfast/contract/vocabulary'
import type { PublicJwk, Purpose, Signer, SigningAlg } from '@holdfast/crypto'

export type MadeKey = { kid: string; publicJwk: PublicJwk; privateJwe: string | null; signer: Signer }

/** Where private keys are made and used. */
export type KeyProvider = {
  name: SignerProvider
  make: (purpose: Purpose, alg: SigningAlg) => Promise<MadeKey>
  /** Throws where the key can not be opened: sealed under another master key, or not in the token. */
  open: (key: { kid: string; purpose: Purpose; privateJwe: string | null }) => Promise<Signer>
}
/** New keys are made by the first one; the others open what they made. */
export type KeyProviders = readonly [KeyProvider, ...KeyProvider[]]

export const providerNamed = (providers: KeyProviders, name: SignerProvider): KeyProvider => {
  const found = providers.find((p) => p.name === name)
  if (!found) throw new Error(`there is no provider of keys named ${name}: this deployment is configured without one`)
  return found
}
