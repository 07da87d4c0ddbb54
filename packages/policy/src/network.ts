import ipaddr from 'ipaddr.js'

/**
 * Addresses of both families as points on one line, so that a network is a range, and two networks are nested or
 * disjoint. IPv6 comes first, and IPv4 follows above it. An IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2) is the IPv4
 * address that it maps.
 */
export type AddressRange = { readonly lo: bigint; readonly hi: bigint }

const v4Base = 1n << 128n
const mapped = 0xffffn

type Address = { readonly width: 32 | 128; readonly value: bigint }

const maxText = 45
const isAddressPart = (c: string): boolean =>
  (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c === ':' || c === '.'

function readAddress(text: string): Address | null {
  if (text.length > maxText) return null
  for (let i = 0; i < text.length; i++) if (!isAddressPart(text.charAt(i))) return null
  return text.includes(':') ? readV6(text) : readV4(text)
}

/** Accepts only four canonical decimal parts: programs disagree on `010.0.0.1` and `0x7f000001`. */
function readV4(text: string): Address | null {
  const parts = text.split('.')
  if (parts.length !== 4) return null
  let value = 0
  for (const part of parts) {
    const byte = Number(part)
    if (!(byte <= 255) || String(byte) !== part) return null
    value = value * 256 + byte
  }
  return { width: 32, value: BigInt(value) }
}

function readV6(text: string): Address | null {
  if (!ipaddr.IPv6.isValid(text)) return null
  const bytes = ipaddr.IPv6.parse(text).toByteArray()
  return { width: 128, value: bytes.reduce((n, byte) => (n << 8n) | BigInt(byte), 0n) }
}

const isMapped = ({ width, value }: Address): boolean => width === 128 && value >> 32n === mapped
const unmapped = (address: Address): Address =>
  isMapped(address) ? { width: 32, value: address.value & 0xffffffffn } : address

const pointOf = ({ width, value }: Address): bigint => (width === 32 ? v4Base + value : value)

function textOf({ width, value }: Address): string {
  if (width === 32) {
    const bits = Number(value)
    return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`
  }
  const digits = value.toString(16).padStart(32, '0')
  const parts = Array.from({ length: 8 }, (_, i) => Number.parseInt(digits.slice(i * 4, i * 4 + 4), 16))
  return new ipaddr.IPv6(parts).toRFC5952String()
}

/** Returns the point of an address, or null if the text is none. */
export function parseAddress(text: string): bigint | null {
  const address = readAddress(text)
  return address && pointOf(unmapped(address))
}

/** Returns the canonical text of a point (RFC 5952 for IPv6). */
export const textOfPoint = (point: bigint): string =>
  textOf(point >= v4Base ? { width: 32, value: point - v4Base } : { width: 128, value: point })

/** Every address of each family. */
export const everyAddress: readonly AddressRange[] = [
  { lo: 0n, hi: v4Base - 1n },
  { lo: v4Base, hi: v4Base + 0xffffffffn },
]
export const isV4 = (point: bigint): boolean => point >= v4Base

type Network = { readonly range: AddressRange; readonly cidr: string }

/**
 * Returns a network in canonical form, or a sentence that says how to correct it. A bare address is a network of one.
 */
export function parseNetwork(text: string): Network | { problem: string } {
  const slash = text.indexOf('/')
  const address = readAddress(slash < 0 ? text : text.slice(0, slash))
  if (!address)
    return { problem: `"${text}" is not an address or a network; write 10.1.2.3, 10.1.0.0/16 or fd00:1::/64` }
  if (isMapped(address)) {
    return { problem: `"${text}" is an IPv4-mapped address; write it as IPv4: ${textOf(unmapped(address))}` }
  }
  const { width, value } = address
  const prefix = slash < 0 ? width : readPrefix(text.slice(slash + 1), width)
  if (prefix === null)
    return { problem: `"${text}" has no valid prefix length; write a number from 0 to ${width} after "/"` }
  const free = BigInt(width - prefix)
  const first: Address = { width, value: (value >> free) << free }
  const cidr = `${textOf(first)}/${prefix}`
  if (first.value !== value)
    return {
      problem: `"${text}" is an address inside a network; write ${cidr} for the network, or remove the prefix for the address`,
    }
  const lo = pointOf(first)
  return { range: { lo, hi: lo | ((1n << free) - 1n) }, cidr }
}

function readPrefix(text: string, width: number): number | null {
  const value = Number(text)
  return String(value) === text && Number.isInteger(value) && value >= 0 && value <= width ? value : null
}

/** For text that was checked before. Throws if it is invalid. */
export function networkOf(text: string): Network {
  const network = parseNetwork(text)
  if ('problem' in network) throw new Error(network.problem)
  return network
}

export const inRange = (range: AddressRange, point: bigint): boolean => range.lo <= point && point <= range.hi
