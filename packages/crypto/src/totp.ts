import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** Period of a code in seconds, and its digits: the defaults of authenticator apps (RFC 6238 §4.1). */
export const totpPeriodSeconds = 30
const digits = 6
const seedLength = 20

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648 §6 without padding, as authenticator apps read it. */
export function toBase32(bytes: Uint8Array): string {
  let text = ''
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff
    for (bits += 8; bits >= 5; bits -= 5) text += alphabet[(buffer >> (bits - 5)) & 31]
  }
  return bits > 0 ? text + alphabet[(buffer << (5 - bits)) & 31] : text
}

/** Returns a seed of 160 bits, the length that RFC 4226 §4 recommends. */
export const mintTotpSeed = (): Buffer => randomBytes(seedLength)

/** Returns the number of the period that contains a time. */
export const totpStep = (at: Date): number => Math.floor(at.getTime() / 1000 / totpPeriodSeconds)

/** Returns the code of one period: HOTP-SHA-1 over the number of the period (RFC 4226 §5.3, RFC 6238 §4.2). */
export function totpCode(seed: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', seed).update(counter).digest()
  const offset = mac[mac.length - 1]! & 15
  const number = mac.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/**
 * Returns the period of a code: that of `at`, or a neighbour for clocks that differ (RFC 6238 §5.2). Undefined for any
 * other text. A caller that accepts a code must store the period, and accept none up to it again.
 */
export function matchTotp(seed: Uint8Array, code: string, at: Date): number | undefined {
  const given = Buffer.from(code)
  if (given.length !== digits) return undefined
  const now = totpStep(at)
  let found: number | undefined
  for (const step of [now - 1, now + 1, now])
    if (step >= 0 && timingSafeEqual(Buffer.from(totpCode(seed, step)), given)) found = step
  return found
}

/**
 * Returns the text of the QR code for an authenticator app (Key URI format). Issuer and account may contain any
 * character.
 */
export function provisioningUri({
  seed,
  issuer,
  account,
}: {
  seed: Uint8Array
  issuer: string
  account: string
}): string {
  const [i, a] = [encodeURIComponent(issuer), encodeURIComponent(account)]
  const parameters = `secret=${toBase32(seed)}&issuer=${i}&algorithm=SHA1&digits=${digits}&period=${totpPeriodSeconds}`
  return `otpauth://totp/${i}:${a}?${parameters}`
}
