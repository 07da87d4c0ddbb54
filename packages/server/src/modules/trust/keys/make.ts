import type { Purpose, SigningAlg } from '@holdfast/crypto'
import { newUuid } from '../../../kernel/ids.ts'
import type { NewKey } from './keys.queries.ts'
import type { KeyProvider, MadeKey } from './provider.ts'

/** Of signing keys; those of a CA's hierarchy are made by `makeHierarchy`. */
const usual: SigningAlg = 'ES256'
/** What a tenant is born with; other purposes get a key when it is first needed. */
const firstPurposes = ['credential', 'policy', 'gateway-policy', 'trust-set'] as const

export const newKey = (
  provider: KeyProvider,
  { purpose, alg, certificate }: { purpose: Purpose; alg: SigningAlg; certificate: string | null },
  { kid, publicJwk, privateJwe }: MadeKey,
): NewKey => ({
  signer_id: newUuid(),
  kid,
  purpose,
  alg,
  provider: provider.name,
  public_jwk: publicJwk,
  private_jwe: privateJwe,
  certificate,
})

export const makeKey = async (provider: KeyProvider, purpose: Purpose): Promise<NewKey> =>
  newKey(provider, { purpose, alg: usual, certificate: null }, await provider.make(purpose, usual))

export const makeFirstKeys = (provider: KeyProvider): Promise<NewKey[]> =>
  Promise.all(firstPurposes.map((purpose) => makeKey(provider, purpose)))
