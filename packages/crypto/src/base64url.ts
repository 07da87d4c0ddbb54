import { refuse } from './errors.ts'

/**
 * Decodes strict base64url (RFC 4648 §5, no padding, RFC 7515 §2). The platform decoder skips unknown characters, so
 * several texts could give the same bytes. This function accepts only the canonical one. Throws `malformed`.
 */
export function decodeBase64url(text: string, what: string): Buffer {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) refuse('malformed', `${what} is not canonical base64url`)
  return bytes
}

export function encodeBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}
