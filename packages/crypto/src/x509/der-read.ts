import { isUtf8 } from 'node:buffer'
import { refuse } from '../errors.ts'
import { context, contextOf, tags } from './der-write.ts'
import type { Oid } from './oids.ts'

/**
 * Reads the elements of a DER encoding in sequence, without copies. Accepts only DER: definite lengths in the shortest
 * form, no tag numbers above 30. Every method throws `malformed`.
 */
export class DerReader {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    this.#bytes = bytes
    this.#at = at
    this.#end = end
  }

  /** True if nothing is left. */
  get isDone(): boolean {
    return this.#at === this.#end
  }

  /** True if the next element has this tag. */
  isAt(tag: number): boolean {
    return this.#at < this.#end && this.#bytes[this.#at] === tag
  }

  /** Throws unless nothing is left. */
  done(): void {
    if (!this.isDone) refuse('malformed', 'the DER has unexpected data at its end')
  }

  /** Returns the content of the next element, which must have this tag. */
  content(tag: number): Buffer {
    const [start, end] = this.#take(tag)
    return this.#bytes.subarray(start, end)
  }

  /** Returns the next element with its tag and length. It must have this tag, if one is given. */
  whole(tag?: number): Buffer {
    const from = this.#at
    const [, end] = this.#take(tag)
    return this.#bytes.subarray(from, end)
  }

  /** Returns a reader of the content of the next element, which must have this tag. */
  within(tag: number): DerReader {
    const [start, end] = this.#take(tag)
    return new DerReader(this.#bytes, start, end)
  }

  sequence(): DerReader {
    return this.within(tags.sequence)
  }

  /** Returns a reader of the content of an explicit context tag, if it is present. */
  explicit(number: number): DerReader | undefined {
    return this.isAt(contextOf(number)) ? this.within(contextOf(number)) : undefined
  }

  /** Returns the content of an implicit context tag over a primitive type, if it is present. */
  implicit(number: number): Buffer | undefined {
    return this.isAt(context(number)) ? this.content(context(number)) : undefined
  }

  oid(): Oid {
    const content = this.content(tags.oid)
    let isWhole = true
    for (const octet of content) {
      if (isWhole && octet === 0x80) refuse('malformed', 'an OID is not in its shortest form')
      isWhole = octet < 0x80
    }
    if (content.length === 0 || !isWhole) refuse('malformed', 'an OID is incomplete')
    return content.toString('hex')
  }

  /** Returns the octets of a positive INTEGER or zero, without a leading zero. */
  magnitude(): Buffer {
    const content = this.content(tags.integer)
    const [first = 0x80, second = 0x80] = content
    if (first & 0x80) refuse('malformed', 'an INTEGER is negative or empty')
    if (first === 0 && content.length > 1 && !(second & 0x80)) refuse('malformed', 'an INTEGER has leading zeros')
    return first === 0 && content.length > 1 ? content.subarray(1) : content
  }

  /** Returns a number of at most 2^53. */
  number(): number {
    const magnitude = this.magnitude()
    const value = magnitude.length > 7 ? Number.NaN : Number.parseInt(magnitude.toString('hex'), 16)
    return Number.isSafeInteger(value) ? value : refuse('malformed', 'an INTEGER is too large')
  }

  boolean(): boolean {
    const content = this.content(tags.boolean)
    if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff))
      refuse('malformed', 'a BOOLEAN is not valid DER')
    return content[0] === 0xff
  }

  /** Returns the octets of a BIT STRING without unused bits. */
  bitString(): Buffer {
    const content = this.content(tags.bitString)
    if (content[0] !== 0) refuse('malformed', 'a BIT STRING has unused bits')
    return content.subarray(1)
  }

  utf8(): string {
    const content = this.content(tags.utf8String)
    return isUtf8(content) ? content.toString() : refuse('malformed', 'a UTF8String is not valid UTF-8')
  }

  /** Reads UTCTime or GeneralizedTime as in RFC 5280 §4.1.2.5: in seconds, with Z. */
  time(): Date {
    return this.isAt(tags.utcTime) ? this.#date(tags.utcTime, 12) : this.#date(tags.generalizedTime, 14)
  }

  /** The year takes the digits before the last ten. */
  #date(tag: number, digits: 12 | 14): Date {
    const content = this.content(tag)
    if (content.length !== digits + 1 || content[digits] !== 0x5a) refuse('malformed', 'a time is not valid DER')
    const pair = (at: number) => 10 * digit(content[at]!) + digit(content[at + 1]!)
    const rest = digits - 10
    const short = pair(rest - 2)
    const year = rest === 4 ? 100 * pair(0) + short : short < 50 ? 2000 + short : 1900 + short
    const [month, day, hour, minute, second] = [
      pair(rest),
      pair(rest + 2),
      pair(rest + 4),
      pair(rest + 6),
      pair(rest + 8),
    ]
    const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second))
    const isThere =
      hour < 24 && minute < 60 && second < 60 && date.getUTCDate() === day && date.getUTCMonth() === month - 1
    return isThere && date.getUTCFullYear() === year ? date : refuse('malformed', 'a time does not exist')
  }

  /** Skips the next element. Returns the start and the end of its content. */
  #take(tag: number | undefined): [start: number, end: number] {
    const bytes = this.#bytes
    const from = this.#at
    if (from + 2 > this.#end) refuse('malformed', 'the DER is incomplete')
    if (tag === undefined ? (bytes[from]! & 0x1f) === 0x1f : bytes[from] !== tag)
      refuse('malformed', 'the DER has an unexpected element')
    let start = from + 2
    let length = bytes[from + 1]!
    if (length >= 0x80) {
      const octets = length - 0x80
      if (octets < 1 || octets > 4 || start + octets > this.#end) refuse('malformed', 'a length is not valid DER')
      length = bytes.readUIntBE(start, octets)
      start += octets
      if (length < 0x80 || length < 2 ** (8 * (octets - 1))) refuse('malformed', 'a length is not in its shortest form')
    }
    if (length > this.#end - start) refuse('malformed', 'the DER is incomplete')
    this.#at = start + length
    return [start, start + length]
  }
}

function digit(octet: number): number {
  return octet >= 0x30 && octet <= 0x39 ? octet - 0x30 : refuse('malformed', 'a time is not valid DER')
}

/** Reads one encoding to its end. Throws if more follows. */
export function readDer<T>(bytes: Buffer, read: (reader: DerReader) => T): T {
  const reader = new DerReader(bytes)
  const value = read(reader)
  reader.done()
  return value
}
