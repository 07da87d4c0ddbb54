import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { refuse } from './errors.ts'

const maxDepth = 64

function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth >= maxDepth) refuse('malformed', `nested deeper than ${maxDepth} levels`)
  for (const member of Object.values(value)) checkDepth(member, depth + 1)
}

/**
 * RFC 8785 (JCS). Throws `malformed`: deeper than 64 levels, or a value JSON does not have (NaN, lone surrogate,
 * bigint, undefined).
 */
export function canonicalJson(value: unknown): string {
  checkDepth(value, 0)
  try {
    const text = canonicalize(value)
    if (text !== undefined) return text
  } catch (cause) {
    return refuse('malformed', 'not representable as canonical JSON', cause)
  }
  return refuse('malformed', 'not a JSON value')
}

export function sha256Hex(bytes: Uint8Array | string): string {
  return hash('sha256', bytes, 'hex')
}

/** `sha256:<hex>` over the canonical JSON: equal content gives an equal digest, whatever the order of its members. */
export function contentDigest(value: unknown): `sha256:${string}` {
  return `sha256:${sha256Hex(canonicalJson(value))}`
}
