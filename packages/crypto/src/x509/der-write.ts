import { integerContent } from '../ecdsa-der.ts'
import type { Oid } from './oids.ts'

/** Identifier octets (X.690 §8.1.2) that X.509 uses. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** Context-specific tags: of a primitive element, and of a constructed one. */
export const context = (number: number) => 0x80 | number
export const contextOf = (number: number) => 0xa0 | number

/** Returns the number of octets of a length, in the shortest form (X.690 §10.1), after the first one. */
const furtherOctets = (length: number) =>
  length < 0x80 ? 0 : length < 0x100 ? 1 : length < 0x10000 ? 2 : length < 0x1000000 ? 3 : 4

/** Writes identifier and length octets. Returns the position of the content. */
function putHeader(der: Buffer, tag: number, length: number): number {
  const further = furtherOctets(length)
  der[0] = tag
  der[1] = further === 0 ? length : 0x80 | further
  return further === 0 ? 2 : der.writeUIntBE(length, 2, further)
}

/** Returns the identifier and length octets for a content of this length. */
export function header(tag: number, length: number): Buffer {
  const der = Buffer.allocUnsafe(2 + furtherOctets(length))
  putHeader(der, tag, length)
  return der
}

/** Returns an element with the concatenation of these octets as its content. */
export function element(tag: number, ...content: readonly Uint8Array[]): Buffer {
  let length = 0
  for (const octets of content) length += octets.length
  const der = Buffer.allocUnsafe(2 + furtherOctets(length) + length)
  let at = putHeader(der, tag, length)
  for (const octets of content) {
    der.set(octets, at)
    at += octets.length
  }
  return der
}

export const sequence = (...elements: readonly Uint8Array[]) => element(tags.sequence, ...elements)
export const octetString = (content: Uint8Array) => element(tags.octetString, content)
export const utf8String = (text: string) => element(tags.utf8String, Buffer.from(text))
export const objectIdentifier = (oid: Oid) => element(tags.oid, Buffer.from(oid, 'hex'))
export const boolean = (value: boolean) => element(tags.boolean, Buffer.of(value ? 0xff : 0))
/** Returns a BIT STRING of whole octets. */
export const bitString = (content: Uint8Array) => element(tags.bitString, Buffer.of(0), content)

/** Returns an INTEGER that is not negative, given as a number or by its octets. */
export function integer(value: bigint | number | Uint8Array): Buffer {
  if (typeof value === 'object') return element(tags.integer, integerContent(value))
  if (value < 0 || (typeof value === 'number' && !Number.isSafeInteger(value)))
    throw new RangeError('the value is not a whole number from 0 up')
  const digits = value.toString(16)
  return integer(Buffer.from(digits.length % 2 ? `0${digits}` : digits, 'hex'))
}

/** Writes two digits for each number, then Z. A fraction of a second is cut off (RFC 5280 §4.1.2.5). */
function digits(tag: number, ...pairs: readonly number[]): Buffer {
  const der = Buffer.allocUnsafe(3 + 2 * pairs.length)
  let at = putHeader(der, tag, 1 + 2 * pairs.length)
  for (const pair of pairs) {
    der[at++] = 0x30 + Math.floor(pair / 10)
    der[at++] = 0x30 + (pair % 10)
  }
  der[at] = 0x5a
  return der
}

/**
 * Returns the digits that both kinds of time share, after the first two of a four-digit year. Throws RangeError for a
 * year that neither can express.
 */
function pairsOf(time: Date): number[] {
  const year = time.getUTCFullYear()
  if (!(year >= 1950 && year <= 9999)) throw new RangeError('the time is not in the years 1950 to 9999')
  const date = [year % 100, time.getUTCMonth() + 1, time.getUTCDate()]
  return [...date, time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds()]
}

export const generalizedTime = (value: Date) =>
  digits(tags.generalizedTime, Math.floor(value.getUTCFullYear() / 100), ...pairsOf(value))

/** UTCTime up to 2049, GeneralizedTime from then on. */
export const time = (value: Date) =>
  value.getUTCFullYear() >= 2050 ? generalizedTime(value) : digits(tags.utcTime, ...pairsOf(value))
