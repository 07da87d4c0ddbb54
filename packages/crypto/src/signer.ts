import { createPrivateKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto'
import { refuse } from './errors.ts'
import {
  algOf,
  importPublic,
  type PrivateJwk,
  type PublicJwk,
  parsePublicJwk,
  type SigningAlg,
  thumbprint,
} from './jwk.ts'
import { signBytes, verifyBytes } from './signature.ts'

/** One purpose per key (SP 800-57 part 1 §5.2): a posture key cannot sign a policy. */
export type Purpose =
  | 'credential'
  | 'policy'
  | 'gateway-policy'
  | 'posture'
  | 'update'
  | 'trust-set'
  | 'ca-root'
  | 'ca-issuing'
  | 'audit-checkpoint'
  | 'tuf-root'
  | 'tuf-targets'
  | 'tuf-snapshot'
  | 'tuf-timestamp'

/**
 * Signs with a private key that may be in an HSM, so it is asynchronous. `sign` returns the JWS form (ECDSA: raw r‖s).
 */
export type Signer = {
  readonly kid: string
  readonly alg: SigningAlg
  readonly purpose: Purpose
  readonly publicJwk: PublicJwk
  sign(bytes: Uint8Array): Promise<Buffer>
}

export type GeneratedKey = { kid: string; publicJwk: PublicJwk; privateJwk: PrivateJwk }

/** Makes a new key pair; `kid` is the RFC 7638 thumbprint. */
export function generateKey(alg: SigningAlg): GeneratedKey {
  const { privateKey } =
    alg === 'Ed25519'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('ec', { namedCurve: alg === 'ES256' ? 'P-256' : 'P-384' })
  const { d, ...exported } = privateKey.export({ format: 'jwk' })
  const publicJwk = parsePublicJwk(exported)
  if (d === undefined) throw new Error('the generated key has no private part')
  return { kid: thumbprint(publicJwk), publicJwk, privateJwk: { ...publicJwk, d } }
}

/**
 * Imports a private key with its checked public half. The platform does not compare the halves of a JWK, so one
 * signature is made and verified. Throws `malformed`.
 */
export function openPrivateKey(privateJwk: PrivateJwk): {
  privateKey: KeyObject
  publicJwk: PublicJwk
  alg: SigningAlg
} {
  const { d, ...rest } = privateJwk
  const publicJwk = parsePublicJwk(rest)
  const alg = algOf(publicJwk)
  const probe = Buffer.from(publicJwk.x)
  try {
    const privateKey = createPrivateKey({ key: { ...publicJwk, d }, format: 'jwk' })
    const signature = signBytes(alg, privateKey, probe)
    if (verifyBytes({ alg, publicKey: importPublic(publicJwk) }, probe, signature))
      return { privateKey, publicJwk, alg }
  } catch (cause) {
    return refuse('malformed', 'the JWK is not a private key', cause)
  }
  return refuse('malformed', 'the private key does not belong to the public key')
}

/** Returns a signer whose key is in this process's memory. Throws `malformed` for a JWK that is no private key. */
export function softwareSigner(purpose: Purpose, privateJwk: PrivateJwk): Signer {
  const { privateKey, publicJwk, alg } = openPrivateKey(privateJwk)
  return {
    kid: thumbprint(publicJwk),
    alg,
    purpose,
    publicJwk,
    sign: async (bytes) => signBytes(alg, privateKey, bytes),
  }
}

/** Signs a digest of 32 (ES256) or 48 bytes (ES384). Returns raw r‖s of twice that length. */
type DigestSigner = (digest: Buffer) => Promise<Buffer>

/**
 * Returns a signer whose private key is elsewhere, for example in a token. Every signature is verified with the public
 * key first; an `Error` means that another key made it. ECDSA only.
 */
export function remoteSigner(purpose: Purpose, publicJwk: PublicJwk, signDigest: DigestSigner): Signer {
  const alg = algOf(publicJwk)
  const digestName = alg === 'ES256' ? 'sha256' : alg === 'ES384' ? 'sha384' : undefined
  if (digestName === undefined) throw new Error(`an ${alg} key cannot sign digests`)
  const publicKey = importPublic(publicJwk)
  const kid = thumbprint(publicJwk)
  return {
    kid,
    alg,
    purpose,
    publicJwk,
    sign: async (bytes) => {
      const signature = await signDigest(hash(digestName, bytes, 'buffer'))
      if (verifyBytes({ alg, publicKey }, bytes, signature)) return signature
      throw new Error(`a signature made for the key ${kid} does not verify with that key`)
    },
  }
}
