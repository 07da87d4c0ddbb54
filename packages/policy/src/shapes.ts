import { type AddressRange, networkOf, parseAddress } from './network.ts'

/**
 * A target as a set: of addresses, of DNS names, of services, or everything. Two shapes are nested or disjoint and
 * never cross. So "is any part of it reachable" has an exact answer.
 */
export type Shape =
  | { readonly kind: 'everything' }
  | { readonly kind: 'range'; readonly range: AddressRange }
  /** `below`: every name below `name`, not `name` itself. */
  | { readonly kind: 'dns'; readonly name: string; readonly below: boolean }
  | { readonly kind: 'service'; readonly name: string }

export const everything: Shape = { kind: 'everything' }

export const networkShape = (cidr: string): Shape => ({ kind: 'range', range: networkOf(cidr).range })

/** A name is the same with and without the final dot, and in upper and lower case (RFC 4343). */
export function dnsShape(text: string): Shape {
  const name = withoutRoot(text).toLowerCase()
  return name.startsWith('*.') ? { kind: 'dns', name: name.slice(2), below: true } : { kind: 'dns', name, below: false }
}

const withoutRoot = (name: string): string => (name.endsWith('.') ? name.slice(0, -1) : name)

export function addressShape(address: string): Shape | null {
  const point = parseAddress(address)
  return point === null ? null : { kind: 'range', range: { lo: point, hi: point } }
}

/** True if `outer` contains all of `inner`. */
export function covers(outer: Shape, inner: Shape): boolean {
  if (outer.kind === 'everything') return true
  if (outer.kind === 'range') {
    return inner.kind === 'range' && outer.range.lo <= inner.range.lo && inner.range.hi <= outer.range.hi
  }
  if (outer.kind === 'service') return inner.kind === 'service' && inner.name === outer.name
  if (inner.kind !== 'dns') return false
  if (outer.below && inner.name.endsWith(`.${outer.name}`)) return true
  return inner.name === outer.name && inner.below === outer.below
}

/** Returns the intersection of two shapes: the smaller one, or null. */
export const common = (a: Shape, b: Shape): Shape | null => (covers(a, b) ? b : covers(b, a) ? a : null)

/**
 * True if a target that is no resource and no host can be a DNS name. It must contain a dot, so that a misspelt
 * resource is reported.
 */
export const isHostName = (text: string): boolean => withoutRoot(text).includes('.') && isDnsName(withoutRoot(text))

/** True if the text can be a DNS name or a wildcard. */
export function isDnsName(text: string): boolean {
  const name = text.startsWith('*.') ? text.slice(2) : text
  return name.length <= 253 && name.split('.').every(isLabel)
}

function isLabel(label: string): boolean {
  if (label.length < 1 || label.length > 63 || label.startsWith('-') || label.endsWith('-')) return false
  return [...label].every(
    (c) => (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c === '-' || c === '_',
  )
}
