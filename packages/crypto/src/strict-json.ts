import { isUtf8 } from 'node:buffer'
import { refuse } from './errors.ts'

const usualDepth = 16
const quote = 0x22
const backslash = 0x5c
const colon = 0x3a

/**
 * Counts the members written in the text, duplicates included. Runs before the parser, so that it also bounds the
 * depth.
 */
function countWritten(text: string, what: string, maxDepth: number): number {
  let members = 0
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === quote) {
      while (++i < text.length && text.charCodeAt(i) !== quote) if (text.charCodeAt(i) === backslash) i++
    } else if (c === colon) members++
    else if (c === 0x7b || c === 0x5b) {
      if (++depth > maxDepth) refuse('malformed', `${what} is nested too deeply`)
    } else if (c === 0x7d || c === 0x5d) depth--
  }
  return members
}

function countKept(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  for (const [, member] of Object.entries(value)) members += countKept(member)
  return Array.isArray(value) ? members : members + Object.keys(value).length
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Parses a JSON object in valid UTF-8 whose member names are unique at every level (RFC 7515 §4). Otherwise a parser
 * that keeps the first of two `alg` members and one that keeps the last would see different headers. Throws
 * `malformed`.
 */
export function parseStrictObject(bytes: Buffer, what: string, maxDepth = usualDepth): Record<string, unknown> {
  if (!isUtf8(bytes)) refuse('malformed', `${what} is not UTF-8`)
  const text = bytes.toString('utf8')
  const written = countWritten(text, what, maxDepth)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    refuse('malformed', `${what} is not JSON`)
  }
  if (!isObject(value)) refuse('malformed', `${what} is not a JSON object`)
  if (countKept(value) !== written) refuse('malformed', `${what} has duplicate members`)
  return value
}
