import { decodeBase64url, encodeBase64url } from './base64url.ts'
import { refuse } from './errors.ts'
import { decodeHeader, encodePayload, type KeyLookup, protectedHeader, requireKid, requireSignature } from './jws.ts'
import type { Signer } from './signer.ts'
import { isObject } from './strict-json.ts'

/** JWS general JSON serialization (RFC 7515 §7.2.1), with protected headers only. */
export type GeneralJws = { payload: string; signatures: { protected: string; signature: string }[] }

const maxSignatures = 16

/** Signs one payload under several keys. During an overlap both old and new readers find a key that they know. */
export async function signGeneralJws(
  signers: readonly Signer[],
  typ: string,
  payload: object | Uint8Array,
): Promise<GeneralJws> {
  if (signers.length === 0 || signers.length > maxSignatures)
    throw new RangeError(`a general JWS needs 1 to ${maxSignatures} signers`)
  const encoded = encodePayload(payload)
  const signatures = await Promise.all(
    signers.map(async (signer) => {
      const header = protectedHeader(signer, typ)
      const signature = await signer.sign(Buffer.from(`${header}.${encoded}`, 'latin1'))
      return { protected: header, signature: encodeBase64url(signature) }
    }),
  )
  return { payload: encoded, signatures }
}

const hasOnly = (value: object, names: readonly string[]) =>
  Object.keys(value).length === names.length && names.every((name) => name in value)

function parseGeneralJws(value: unknown): GeneralJws {
  if (!isObject(value) || !hasOnly(value, ['payload', 'signatures']))
    refuse('malformed', 'the value is not a general JWS')
  const { payload, signatures } = value
  if (typeof payload !== 'string' || !Array.isArray(signatures)) refuse('malformed', 'the value is not a general JWS')
  if (signatures.length === 0 || signatures.length > maxSignatures)
    refuse('malformed', 'the general JWS does not have 1 to 16 signatures')
  return {
    payload,
    signatures: signatures.map((entry: unknown) => {
      if (!isObject(entry) || !hasOnly(entry, ['protected', 'signature']))
        refuse('malformed', 'an entry of the general JWS is not a signature')
      if (typeof entry.protected !== 'string' || typeof entry.signature !== 'string')
        refuse('malformed', 'an entry of the general JWS is not a signature')
      return { protected: entry.protected, signature: entry.signature }
    }),
  }
}

/**
 * Verifies parsed general JSON and returns the keys whose signatures are valid. Signatures by unknown keys are ignored,
 * which an overlap requires. An invalid signature of a known key rejects the whole. Throws like `verifyJws`;
 * `unknown_key` if no signer is known.
 */
export function verifyGeneralJws(
  jws: unknown,
  { typ, key }: { typ: string; key: KeyLookup },
): { payload: Buffer; kids: string[] } {
  const general = parseGeneralJws(jws)
  const payload = decodeBase64url(general.payload, 'the JWS payload')
  const kids = new Set<string>()
  for (const entry of general.signatures) {
    const header = decodeHeader(entry.protected)
    const kid = requireKid(header, typ)
    const found = key(kid)
    if (!found) continue
    if (kids.has(kid)) refuse('malformed', 'the general JWS has two signatures by the same key')
    const signingInput = Buffer.from(`${entry.protected}.${general.payload}`, 'latin1')
    requireSignature(found, { header, signingInput, signature: decodeBase64url(entry.signature, 'the JWS signature') })
    kids.add(kid)
  }
  if (kids.size === 0) refuse('unknown_key', 'the JWS has no signature by a known key')
  return { payload, kids: [...kids] }
}
