import { CompactEncrypt, importJWK, type JWK } from 'jose'
import { refuse } from './errors.ts'

/** A public key on P-256 (RFC 7518 section 6.2.1) of a recipient with the private key. */
type Recipient = { kty: 'EC'; crv: 'P-256'; x: string; y: string }

const alg = 'ECDH-ES+A256KW'

/**
 * Encrypts to a JWE compact (RFC 7516) that only the recipient can open. Rejects if the key is no point of the curve.
 */
export async function sealTo({ kty, crv, x, y }: Recipient, plaintext: string): Promise<string> {
  const jwk: JWK = { kty, crv, x, y }
  const key = await importJWK(jwk, alg).catch(() => refuse('malformed', 'the JWK is not a public P-256 key'))
  return new CompactEncrypt(Buffer.from(plaintext)).setProtectedHeader({ alg, enc: 'A256GCM' }).encrypt(key)
}
