import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { canonicalize } from '@tufjs/canonical-json'
import { sha256Hex } from './canonical.ts'
import { derFromRaw } from './ecdsa-der.ts'
import { type PublicJwk, publicPem } from './jwk.ts'
import type { Signer } from './signer.ts'

/** A public key in metadata of The Update Framework (TUF 1.0.31 §4.2.1). */
export type TufKey = { keytype: string; scheme: string; keyval: { public: string } }
export type TufSignature = { keyid: string; sig: string }
export type TufSigned<S> = { signed: S; signatures: TufSignature[] }
export type TufRole = { keyids: string[]; threshold: number }

/** The version of the specification that our metadata names. */
export const tufSpecVersion = '1.0.31'

/** Converts a P-256 or Ed25519 key. Throws TypeError for another one. */
export function tufKeyOf(jwk: PublicJwk): TufKey {
  if (jwk.crv === 'P-256')
    return { keytype: 'ecdsa', scheme: 'ecdsa-sha2-nistp256', keyval: { public: publicPem(jwk) } }
  if (jwk.crv === 'Ed25519')
    return {
      keytype: 'ed25519',
      scheme: 'ed25519',
      keyval: { public: Buffer.from(jwk.x, 'base64url').toString('hex') },
    }
  throw new TypeError('TUF has no scheme for this kind of key')
}

/** Returns the SHA-256 of the key's canonical form, in hexadecimal (§4.2.1). */
export const tufKeyId = (key: TufKey): string => sha256Hex(canonicalize(key))

/** Returns the signed bytes: OLPC canonical JSON, which escapes only quotes and backslashes. */
const bytesOf = (signed: object): Buffer => Buffer.from(canonicalize(signed))

export async function tufSignature(signed: object, signer: Signer): Promise<TufSignature> {
  const raw = await signer.sign(bytesOf(signed))
  const sig = signer.alg === 'Ed25519' ? raw : derFromRaw(raw)
  return { keyid: tufKeyId(tufKeyOf(signer.publicJwk)), sig: sig.toString('hex') }
}

export const signTuf = async <S extends object>(signed: S, signers: readonly Signer[]): Promise<TufSigned<S>> => ({
  signed,
  signatures: await Promise.all(signers.map((signer) => tufSignature(signed, signer))),
})

/**
 * True if the role's threshold of different keys has signed (§5.3.4). A key counts under its own id only, so that one
 * key under two names counts once.
 */
export function isSignedBy(
  { signed, signatures }: TufSigned<object>,
  keys: Readonly<Record<string, TufKey>>,
  { keyids, threshold }: TufRole,
): boolean {
  const bytes = bytesOf(signed)
  const good = new Set<string>()
  for (const { keyid, sig } of signatures) {
    const key = keyids.includes(keyid) && Object.hasOwn(keys, keyid) ? keys[keyid] : undefined
    if (key && tufKeyId(key) === keyid && holds(key, bytes, Buffer.from(sig, 'hex'))) good.add(keyid)
  }
  return good.size >= threshold
}

function holds(key: TufKey, bytes: Buffer, signature: Buffer): boolean {
  const publicKey = importTufKey(key)
  if (!publicKey) return false
  return verify(publicKey.asymmetricKeyType === 'ec' ? 'sha256' : null, bytes, publicKey, signature)
}

const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex')

/** Undefined for a key of an unsupported scheme, or one that does not match its scheme. */
export function importTufKey({ keytype, scheme, keyval }: TufKey): KeyObject | undefined {
  const text = keyval.public
  try {
    if (keytype === 'ed25519' && scheme === 'ed25519' && /^[0-9a-f]{64}$/.test(text))
      return createPublicKey({
        key: Buffer.concat([ed25519Prefix, Buffer.from(text, 'hex')]),
        format: 'der',
        type: 'spki',
      })
    if (keytype !== 'ecdsa' || scheme !== 'ecdsa-sha2-nistp256' || !text.startsWith('-----BEGIN PUBLIC KEY-----'))
      return undefined
    const key = createPublicKey(text)
    return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined
  } catch {
    return undefined
  }
}
