import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { CompactEncrypt, compactDecrypt } from 'jose'
import { decodeBase64url } from './base64url.ts'
import { refuse } from './errors.ts'
import { parseStrictObject } from './strict-json.ts'

/**
 * The key-encryption key that seals, and others that only open. A key object never serializes its bytes, so a logged
 * Kek shows only its `kid`.
 */
export type Kek = { readonly kid: string; readonly key: KeyObject; readonly others: ReadonlyMap<string, KeyObject> }

const sealType = 'holdfast-secret'

/** Imports keys of 32 bytes. The `kid` is derived from them, so replicas and restarts agree on it. */
export function openKek(bytes: Uint8Array, others: readonly Uint8Array[] = []): Kek {
  if ([bytes, ...others].some((b) => b.length !== 32)) throw new RangeError('a key-encryption key must have 32 bytes')
  return {
    kid: kidOf(bytes),
    key: createSecretKey(bytes),
    others: new Map(others.map((other) => [kidOf(other), createSecretKey(other)])),
  }
}
const kidOf = (bytes: Uint8Array): string =>
  createHmac('sha256', bytes).update('holdfast kek id').digest('hex').slice(0, 16)

/**
 * Seals a secret for one place: JWE compact (RFC 7516), A256KW around a fresh A256GCM key. `context`
 * (`table/row/column`) is authenticated, so that ciphertexts cannot be moved between rows.
 */
export async function seal(kek: Kek, context: string, plaintext: Uint8Array): Promise<string> {
  return new CompactEncrypt(plaintext).setProtectedHeader(headerOf(kek.kid, context)).encrypt(kek.key)
}
const headerOf = (kid: string, ctx: string) => ({ alg: 'A256KW', enc: 'A256GCM', kid, typ: sealType, ctx })

/**
 * Returns the prefix of everything sealed under this key, and of nothing else. The database finds values to seal again
 * by it.
 */
export function sealedPrefix(kid: string): string {
  const before = Buffer.from(JSON.stringify(headerOf(kid, '')))
  const end = before.indexOf(',"typ"') + 1
  return before.subarray(0, end - (end % 3)).toString('base64url')
}

function sealHeader(jwe: string): Record<string, unknown> {
  const end = jwe.indexOf('.')
  if (end < 1 || end > 4096) refuse('malformed', 'the value is not a sealed secret')
  const header = parseStrictObject(decodeBase64url(jwe.slice(0, end), 'the JWE header'), 'the JWE header')
  if (header.typ !== sealType) refuse('wrong_type', 'the value is not a sealed secret')
  return header
}

/**
 * Returns the id of the key-encryption key that is needed: several can be read while one replaces another. Throws
 * `malformed`, `wrong_type`.
 */
export function sealedKid(jwe: string): string {
  const { kid } = sealHeader(jwe)
  return typeof kid === 'string' ? kid : refuse('malformed', 'the sealed secret has no kid')
}

/**
 * Opens a sealed secret that was found at `context`. Throws `unknown_key` (sealed under another key), `wrong_context`
 * (sealed for another place), `bad_algorithm`, `bad_signature` (altered), `malformed`, `wrong_type`.
 */
export async function unseal(kek: Kek, context: string, jwe: string): Promise<Buffer> {
  const { alg, enc, kid, ctx } = sealHeader(jwe)
  const key = kid === kek.kid ? kek.key : kek.others.get(String(kid))
  if (!key) refuse('unknown_key', 'the secret is sealed under an unknown key-encryption key')
  if (alg !== 'A256KW' || enc !== 'A256GCM') refuse('bad_algorithm', 'the secret is not sealed with A256KW and A256GCM')
  if (ctx !== context) refuse('wrong_context', 'the secret is sealed for another context')
  const [, ...parts] = jwe.split('.')
  for (const part of parts) decodeBase64url(part, 'the sealed secret')
  try {
    const { plaintext } = await compactDecrypt(jwe, key, {
      keyManagementAlgorithms: ['A256KW'],
      contentEncryptionAlgorithms: ['A256GCM'],
    })
    return Buffer.from(plaintext)
  } catch (cause) {
    return refuse('bad_signature', 'the sealed secret was altered or the key is wrong', cause)
  }
}

/** Seals the same secret again for the same place. Throws like `unseal`. */
export async function reseal(kek: Kek, jwe: string): Promise<string> {
  const { ctx } = sealHeader(jwe)
  if (typeof ctx !== 'string') return refuse('malformed', 'the sealed secret has no context')
  const plaintext = await unseal(kek, ctx, jwe)
  const sealed = await seal(kek, ctx, plaintext)
  plaintext.fill(0)
  return sealed
}
