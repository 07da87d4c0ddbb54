import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** hfk: API key, hfg: gateway service secret, hfe: enrollment or bootstrap token. */
export type TokenPrefix = 'hfk' | 'hfg' | 'hfe'
/** `id` is the public look-up key, `hint` the last four characters for display. The token itself is shown once. */
export type MintedToken = { token: string; id: string; hint: string }

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const idLength = 16
const secretLength = 32
const checksumLength = 6
const shape = /^(hf[kge])_([0-9A-Za-z]{16})[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/
/** The largest multiple of 62 in a byte: bytes from here on would favour the first characters and are drawn again. */
const unbiased = 248

function randomBase62(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < unbiased && text.length < length) text += alphabet[byte % 62]
    }
  }
  return text
}

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < checksumLength; i++) {
    digits = alphabet[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** `<prefix>_<id:16><secret:32><crc32:6>` in base62: 190 random bits, findable by secret scanners, typos caught without a database. */
export function mintToken(prefix: TokenPrefix): MintedToken {
  const id = randomBase62(idLength)
  const body = `${prefix}_${id}${randomBase62(secretLength)}`
  const token = body + checksum(body)
  return { token, id, hint: token.slice(-4) }
}

/** Shape and checksum only: undefined says the text was never minted; a result says nothing about validity. */
export function parseToken(text: string): { prefix: TokenPrefix; id: string } | undefined {
  const match = shape.exec(text)
  if (!match?.[2]) return undefined
  const prefix = match[1]
  if (prefix !== 'hfk' && prefix !== 'hfg' && prefix !== 'hfe') return undefined
  if (checksum(text.slice(0, -checksumLength)) !== text.slice(-checksumLength)) return undefined
  return { prefix, id: match[2] }
}

/** What is stored: HMAC-SHA-256 under a pepper (at least 16 bytes) that is not in the database. */
export function digestToken(pepper: Uint8Array, token: string): Buffer {
  if (pepper.length < 16) throw new RangeError('a pepper has at least 16 bytes')
  return createHmac('sha256', pepper).update(token).digest()
}

/** Constant-time for equal lengths, which is all that digests have. */
export function equalDigest(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

/** 256 random bits in base64url, for session cookies and one-time links. */
export function mintSecret(): string {
  return randomBytes(32).toString('base64url')
}
