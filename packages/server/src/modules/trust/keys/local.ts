import { generateKey, type Kek, type PrivateJwk, seal, softwareSigner, unseal } from '@holdfast/crypto'
import type { KeyProvider } from './provider.ts'

const sealContext = (kid: string) => `signing_keys/${kid}/private_jwe`

/** Keys in the database, sealed under the master key. The signing process has them in memory. */
export const localKeys = (kek: Kek): KeyProvider => ({
  name: 'local',
  algs: ['ES256', 'ES384', 'Ed25519'],
  make: async (purpose, alg) => {
    const { kid, publicJwk, privateJwk } = generateKey(alg)
    const privateJwe = await seal(kek, sealContext(kid), Buffer.from(JSON.stringify(privateJwk)))
    return { kid, publicJwk, privateJwe, signer: softwareSigner(purpose, privateJwk) }
  },
  open: async ({ kid, purpose, privateJwe }) => {
    if (privateJwe === null) throw new Error('the private key was destroyed')
    const privateJwk = JSON.parse((await unseal(kek, sealContext(kid), privateJwe)).toString()) as PrivateJwk
    return softwareSigner(purpose, privateJwk)
  },
})
