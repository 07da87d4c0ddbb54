import { type PublicJwk, type Purpose, remoteSigner, type Signer, thumbprint } from '@holdfast/crypto'
import type { KeyProvider } from '../provider.ts'
import type { TokenClient } from './token-client.ts'

/**
 * Keys in a token: made and used there, never readable here. `keepInMind` records a new key, so that it is destroyed
 * unless a row refers to it. It rejects if that could not be recorded.
 */
export function pkcs11Keys({ token, keepInMind }: { token: TokenClient; keepInMind: (kid: string) => Promise<void> }) {
  const destroy = async (kid: string) => void (await token.use({ ask: 'destroy', kid }))
  const signerOf = (purpose: Purpose, publicJwk: PublicJwk): Signer => {
    const kid = thumbprint(publicJwk)
    return remoteSigner(purpose, publicJwk, async (digest) =>
      Buffer.from(await token.use({ ask: 'sign', kid, digest })),
    )
  }
  return {
    name: 'pkcs11',
    // Few tokens have others (CKM_EDDSA came with PKCS #11 3.0).
    algs: ['ES256', 'ES384'],
    make: async (purpose, alg) => {
      const publicJwk = await token.use({ ask: 'make', alg, purpose })
      const kid = thumbprint(publicJwk)
      await keepInMind(kid).catch(async (e) => {
        await destroy(kid)
        throw e
      })
      return { kid, publicJwk, privateJwe: null, signer: signerOf(purpose, publicJwk) }
    },
    // Does not contact the token: a replica that only verifies needs none.
    open: async ({ purpose, publicJwk }) => signerOf(purpose, publicJwk),
    destroy,
    stop: token.stop,
  } satisfies KeyProvider
}
