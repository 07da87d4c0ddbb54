import { randomFillSync } from 'node:crypto'
import { idPrefixes, type Noun, spoken } from '@holdfast/contract/vocabulary'
import { V7Generator } from 'uuidv7'
import { fail } from './app-error.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const digitValue = new Map([...alphabet].map((c, i) => [c, BigInt(i)]))

const random = new Uint32Array(1024)
let nextRandom = random.length
/** Reads from a larger buffer. By default the library asks the platform for eight numbers at a time. */
function nextUint32(): number {
  if (nextRandom === random.length) {
    randomFillSync(random)
    nextRandom = 0
  }
  return random[nextRandom++]!
}
const uuids = new V7Generator({ nextUint32 })
/** Creates a UUIDv7 (RFC 9562), the database's form of every id. */
export const newUuid = (): string => uuids.generate().toString()

const requestIdBytes = 16
const randomPool = Buffer.alloc(256 * requestIdBytes)
let nextDrawn = randomPool.length
/** Creates a request id: 128 random bits as hexadecimal text. It needs no order, and is cheaper than a UUID. */
export function newRequestId(): string {
  if (nextDrawn === randomPool.length) {
    randomFillSync(randomPool)
    nextDrawn = 0
  }
  nextDrawn += requestIdBytes
  return randomPool.toString('hex', nextDrawn - requestIdBytes, nextDrawn)
}

/** Value of a hexadecimal digit, by character code. */
const hexValue = new Uint8Array(128)
for (const [value, c] of [...'0123456789abcdef'].entries()) {
  hexValue[c.charCodeAt(0)] = value
  hexValue[c.toUpperCase().charCodeAt(0)] = value
}
const dash = '-'.charCodeAt(0)

/** UUID → TypeID: the noun's prefix, `_`, 26 characters of Crockford base32. */
export function encodeId(noun: Noun, uuid: string): string {
  let text = `${idPrefixes[noun]}_`
  // 128 bits after two zeros, five at a time. Uses small numbers, because this runs for every request and listed row.
  let bits = 0
  let held = 2
  for (let i = 0; i < uuid.length; i++) {
    const code = uuid.charCodeAt(i)
    if (code === dash) continue
    bits = ((bits << 4) | hexValue[code]!) & 0x1ff
    held += 4
    if (held < 5) continue
    held -= 5
    text += alphabet[(bits >> held) & 31]
  }
  return text
}

/** TypeID → UUID, or undefined for anything that is not an id of this noun. */
export function decodeId(noun: Noun, text: string): string | undefined {
  const prefix = `${idPrefixes[noun]}_`
  const digits = text.slice(prefix.length)
  if (!text.startsWith(prefix) || digits.length !== 26 || digits[0]! > '7') return undefined
  let value = 0n
  for (const c of digits) {
    const v = digitValue.get(c)
    if (v === undefined) return undefined
    value = (value << 5n) | v
  }
  const hex = value.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** TypeID → UUID. Throws 404 for anything else, as for an unknown id and one of another tenant. */
export const idOf = (noun: Noun, text: string): string => decodeId(noun, text) ?? missing(noun)

/** Throws 404 for a thing that does not exist or that the caller may not see. */
export const missing = (noun: Noun): never => fail('not_found', `no such ${spoken(noun)}`)
