import { integerContent } from '../ecdsa-der.ts'
import type { Oid } from './oids.ts'

/** Identifier octets (X.690 §8.1.2) of what X.509 uses. */
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

/** Context-specific tags: of a primitive element, and of one that holds others. */
export const context = (number: number) => 0x80 | number
export const contextOf = (number: number) => 0xa0 | number

/** The identifier and length octets before so many octets of content, in the shortest form (X.690 §10.1). */
export function header(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.of(tag, length)
  if (length < 0x100) return Buffer.of(tag, 0x81, length)
  if (length < 0x10000) return Buffer.of(tag, 0x82, length >> 8, length & 0xff)
  const octets = Buffer.of(tag, 0x84, 0, 0, 0, 0)
  octets.writeUInt32BE(length, 2)
  return length < 0x1000000 ? Buffer.of(tag, 0x83, ...octets.subarray(3)) : octets
}

/** An element whose content is these octets, one after the other. */
export function element(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const length = content.reduce((sum, octets) => sum + octets.length, 0)
  return Buffer.concat([header(tag, length), ...content])
}

export const sequence = (...elements: readonly Uint8Array[]) => element(tags.sequence, ...elements)
export const octetString = (content: Uint8Array) => element(tags.octetString, content)
export const utf8String = (text: string) => element(tags.utf8String, Buffer.from(text))
export const objectIdentifier = (oid: Oid) => element(tags.oid, Buffer.from(oid, 'hex'))
export const boolean = (value: boolean) => element(tags.boolean, Buffer.of(value ? 0xff : 0))
/** A whole number of octets. */
export const bitString = (content: Uint8Array) => element(tags.bitString, Buffer.of(0), content)

/** A number that is not negative, given as such or by its octets. */
export function integer(value: bigint | number | Uint8Array): Buffer {
  if (typeof value === 'object') return element(tags.integer, integerContent(value))
  if (value < 0) throw new RangeError('a negative number')
  const digits = value.toString(16)
  return integer(Buffer.from(digits.length % 2 ? `0${digits}` : digits, 'hex'))
}

/** `YYYYMMDDHHMMSSZ`: a fraction of a second is cut off, for strict readers refuse one (RFC 5280 §4.1.2.5.2). */
const digitsOf = (time: Date) => `${time.toISOString().slice(0, 19).replace(/\D/g, '')}Z`

export const generalizedTime = (time: Date) => element(tags.generalizedTime, Buffer.from(digitsOf(time), 'latin1'))

/** UTCTime up to 2049, GeneralizedTime from then on (RFC 5280 §4.1.2.5). */
export const time = (value: Date) =>
  value.getUTCFullYear() >= 2050
    ? generalizedTime(value)
    : element(tags.utcTime, Buffer.from(digitsOf(value).slice(2), 'latin1'))
