import type { Purpose, SigningAlg } from '@holdfast/crypto'
import { newUuid } from '../../../kernel/ids.ts'
import type { NewSigningKey } from './keys.queries.ts'
import type { KeyProvider, KeyProviders, MadeKey } from './provider.ts'

/** Algorithm of signing keys; `makeHierarchy` makes the keys of CAs. Verifiers of signed notes know Ed25519 (C2SP). */
const algOf = (purpose: string): SigningAlg => (purpose === 'audit-checkpoint' ? 'Ed25519' : 'ES256')
/** Purposes that a new tenant has keys for. Other purposes get a key when it is first needed. */
const firstPurposes = ['credential', 'policy', 'gateway-policy', 'trust-set', 'audit-checkpoint'] as const

export const newKey = (
  provider: KeyProvider,
  { purpose, alg, certificate }: { purpose: Purpose; alg: SigningAlg; certificate: string | null },
  { kid, publicJwk, privateJwe }: MadeKey,
): NewSigningKey => ({
  signer_id: newUuid(),
  kid,
  purpose,
  alg,
  provider: provider.name,
  public_jwk: publicJwk,
  private_jwe: privateJwe,
  certificate,
})

/** True if the provider can make keys for a purpose. */
export const makes = (provider: KeyProvider, purpose: string): boolean => provider.algs.includes(algOf(purpose))

/**
 * Makes a key by the first provider that supports its algorithm. A key that the token cannot make is sealed in the
 * database.
 */
export async function makeKey(providers: readonly KeyProvider[], purpose: Purpose): Promise<NewSigningKey> {
  const provider = providers.find((p) => makes(p, purpose))
  if (!provider) throw new Error(`no key provider can create a key for ${purpose}`)
  const alg = algOf(purpose)
  return newKey(provider, { purpose, alg, certificate: null }, await provider.make(purpose, alg))
}

export const makeFirstKeys = (providers: KeyProviders): Promise<NewSigningKey[]> =>
  Promise.all(firstPurposes.map((purpose) => makeKey(providers, purpose)))
