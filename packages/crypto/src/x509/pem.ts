import { refuse } from '../errors.ts'

/** PEM labels under which OpenSSL reads each type (RFC 7468 §5 to §7). It does not read a list under `CRL`. */
export type PemLabel = 'CERTIFICATE' | 'X509 CRL' | 'CERTIFICATE REQUEST' | 'NEW CERTIFICATE REQUEST'

/** RFC 7468 §3: the text of one DER encoding, in lines of 64 characters. */
export function encodePem(label: PemLabel, der: Uint8Array): string {
  const base64 = Buffer.from(der.buffer, der.byteOffset, der.byteLength).toString('base64')
  let lines = ''
  for (let at = 0; at < base64.length; at += 64) lines += `${base64.slice(at, at + 64)}\n`
  return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`
}

/** Four characters for three octets, and room for labels and line ends. */
const maxChars = (bytes: number) => bytes * 2 + 200
/** Length of the text that `openssl req -text` and similar programs print before a block. */
const maxExplanation = 8 * 1024
const block = /^[ \t]*-----BEGIN ([A-Z0-9 ]+)-----\s([A-Za-z0-9+/=\s]+)-----END ([A-Z0-9 ]+)-----[ \t]*$/gm
const boundary = /-----(?:BEGIN|END) /g

/**
 * Returns the DER of a text with one PEM block, which has one of these labels. Text outside its boundaries is an
 * explanation for people and is ignored (RFC 7468 §2, §5.2). Throws `malformed`, also for more than `maxBytes`, and for
 * a second block or boundary in the text, because another reader could use that one.
 */
export function decodePem(text: string, labels: readonly PemLabel[], maxBytes: number): Buffer {
  if (text.length > maxChars(maxBytes) + maxExplanation) refuse('malformed', 'the text is too long')
  const [found, another] = text.replaceAll('\r\n', '\n').matchAll(block)
  if (!found || another || text.match(boundary)?.length !== 2)
    return refuse('malformed', 'the text is not exactly one PEM block')
  const [, begin, inside = '', end] = found
  if (begin === undefined || begin !== end || !labels.some((label) => label === begin))
    refuse('malformed', 'the PEM block has an unexpected label')
  return decodeBase64(inside, maxBytes)
}

/**
 * Decodes base64 in lines (RFC 4648 §4), complete with its padding. Throws `malformed`, also for more than `maxBytes`.
 */
export function decodeBase64(text: string, maxBytes: number): Buffer {
  if (text.length > maxChars(maxBytes)) refuse('malformed', 'the text is too long')
  const base64 = text.replace(/\s+/g, '')
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') !== base64) refuse('malformed', 'the text is not base64')
  return bytes.length > maxBytes ? refuse('malformed', 'the decoded text is too long') : bytes
}
