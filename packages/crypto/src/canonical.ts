import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { refuse } from './errors.ts'

const maxDepth = 64

function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth >= maxDepth) refuse('malformed', `the value is nested deeper than ${maxDepth} levels`)
  for (const member of Object.values(value)) checkDepth(member, depth + 1)
}

/**
 * True if `JSON.stringify` writes the value as RFC 8785 requires, which takes the form of numbers and strings from
 * ECMAScript. The value must contain only JSON types, have members in the order of their names, and be at most 64
 * levels deep.
 */
export function isInOrder(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return typeof value === 'boolean'
  if (value === null) return true
  if (depth >= maxDepth) return false
  if (Array.isArray(value)) {
    for (const member of value) if (!isInOrder(member, depth + 1)) return false
    return true
  }
  // An object with its own serialization is no plain object.
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return false
  const members = value as Record<string, unknown>
  let last = ''
  for (const name of Object.keys(members)) {
    if (name < last || !name.isWellFormed() || !isInOrder(members[name], depth + 1)) return false
    last = name
  }
  return true
}

/**
 * Serializes by RFC 8785 (JCS). Throws `malformed` for more than 64 levels, or for a value that JSON lacks (NaN, lone
 * surrogate, bigint, undefined).
 */
export function canonicalJson(value: unknown): string {
  if (isInOrder(value)) return JSON.stringify(value)
  checkDepth(value, 0)
  try {
    const text = canonicalize(value)
    if (text !== undefined) return text
  } catch (cause) {
    return refuse('malformed', 'the value cannot be written as canonical JSON', cause)
  }
  return refuse('malformed', 'the value is not a JSON value')
}

export function sha256Hex(bytes: Uint8Array | string): string {
  return hash('sha256', bytes, 'hex')
}

/** Returns `sha256:<hex>` over the canonical JSON. Equal content gives an equal digest, in any order of members. */
export function contentDigest(value: unknown): `sha256:${string}` {
  return `sha256:${sha256Hex(canonicalJson(value))}`
}
