import { refuse } from './errors.ts'

/**
 * Strict base64url (RFC 4648 §5, no padding, RFC 7515 §2). The platform decoder skips what it does not know, so two
 * texts could mean the same bytes; only the one text that encodes them is accepted. Throws `malformed`.
 */
export function decodeBase64url(text: string, what: string): Buffer {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) refuse('malformed', `${what} is not canonical base64url`)
  return bytes
}

export function encodeBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}
