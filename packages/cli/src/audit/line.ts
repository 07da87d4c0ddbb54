import { canonicalJson } from '@holdfast/crypto'
import { isObject, parseStrictObject } from '@holdfast/crypto/strict-json'
import { BadRecord } from './bad-record.ts'

/** Depth limit of RFC 8785 in this package. */
const mostDepth = 64
const hexHash = /^[0-9a-f]{64}$/
const carriageReturn = 0x0d
const newline = 0x0a

/** Sequence number, stored hash, and the event in RFC 8785 form. */
export type Place = { seq: number; hash: Buffer; record: string; eventId: string; tenantId: string }
type Line = { place: Place } | { manifest: Record<string, unknown>; jws: string }

/** Parses a line, with or without its newline. Throws `BadRecord` with the expected sequence number. */
export function readLine(line: Buffer, expected: number): Line {
  try {
    return lineOf(line, expected)
  } catch (e) {
    throw e instanceof BadRecord ? e : new BadRecord(expected, (e as Error).message)
  }
}

function lineOf(line: Buffer, expected: number): Line {
  const text = line.at(-1) === newline ? line.subarray(0, -1) : line
  if (text.length === 0) throw new BadRecord(expected, 'the line is empty')
  if (text.at(-1) === carriageReturn)
    throw new BadRecord(expected, 'the line ends with CR: a program has rewritten the file')
  const value = parseStrictObject(text, 'the line', mostDepth)
  const { seq, hash, ...event } = value
  if (seq === undefined && isObject(value.manifest) && typeof value.jws === 'string')
    return { manifest: value.manifest, jws: value.jws }
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 1)
    throw new BadRecord(expected, 'the line has no sequence number (seq)')
  if (hash === undefined && typeof value.broken === 'string') throw new BadRecord(seq, value.broken)
  if (typeof hash !== 'string' || !hexHash.test(hash)) throw new BadRecord(seq, 'it has no hash')
  if (typeof event.event_id !== 'string' || typeof event.tenant_id !== 'string')
    throw new BadRecord(seq, 'it is not an event: event_id and tenant_id are missing')
  const number = inexactNumber(text.toString('utf8'))
  if (number !== undefined) throw new BadRecord(seq, `the number ${number} is not in canonical form`)
  const record = canonicalJson(event)
  return { place: { seq, hash: Buffer.from(hash, 'hex'), record, eventId: event.event_id, tenantId: event.tenant_id } }
}

/**
 * A double represents up to 15 digits exactly. The pattern also matches inside strings, so its matches are checked
 * again.
 */
const mayBeInexact = /[:,[]\s*-?(?:[\d.]{16}|[\d.]*[eE])/
const strings = /"(?:[^"\\]|\\.)*"/g
const numbers = /-?\d[\d.eE+-]*/g

/**
 * Returns a number that parsers round (RFC 7493 §2.2). An exact reader would read another value than the hashed one.
 */
function inexactNumber(json: string): string | undefined {
  if (!mayBeInexact.test(json)) return undefined
  const found = json.replaceAll(strings, '""').match(numbers) ?? []
  return found.find((text) => String(Number(text)) !== text)
}
