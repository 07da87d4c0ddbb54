import { createHash } from 'node:crypto'
import type { TenantId } from '../../kernel/actor.ts'
import { canonicalAddress } from '../../kernel/cidr.ts'

/** Number of addresses of 100.64.0.0/10 (RFC 6598) for the devices of a tenant. */
export const addressCapacity = 2 ** 22 - 3
/** The next address is shared by all gateways: a device has one tunnel, so every gateway is the same next hop. */
const gatewayNumber = addressCapacity + 1

export const gatewayAddressesOf = (tenant: TenantId): { ipv4: string; ipv6: string } =>
  overlayAddressesOf(tenant, gatewayNumber)

/** Networks that contain all addresses of a tenant. */
export const overlayOf = (tenant: TenantId): { ipv4: string; ipv6: string } => ({
  ipv4: '100.64.0.0/10',
  ipv6: `${spell([...prefixOf(tenant), 0, 0, 0, 0, 0])}/48`,
})

/**
 * Overlay addresses of a device: its number in 100.64.0.0/10, and in the tenant's unique local prefix (RFC 4193: fd and
 * 40 bits derived from the tenant's ID).
 */
export function overlayAddressesOf(tenant: TenantId, number: number): { ipv4: string; ipv6: string } {
  const v4 = (100 << 24) + (64 << 16) + number
  return {
    ipv4: `${v4 >>> 24}.${(v4 >>> 16) & 255}.${(v4 >>> 8) & 255}.${v4 & 255}`,
    ipv6: spell([...prefixOf(tenant), 0, 0, 0, number >>> 16, number & 0xffff]),
  }
}

/**
 * Address numbers that a text denotes: a whole address, or the first octets of an IPv4 address, each followed by a dot.
 * Undefined if none is in the tenant's networks.
 */
export function addressNumbersOf(tenant: TenantId, text: string): { from: number; to: number } | undefined {
  const octets = /^(?:\d{1,3}\.){2,3}$/.test(text) ? text.split('.').slice(0, -1).map(Number) : undefined
  if (octets) {
    const [a = 0, b = 0, c] = octets
    if (a !== 100 || b < 64 || b > 127 || (c ?? 0) > 255) return undefined
    const from = ((b - 64) << 16) + ((c ?? 0) << 8)
    return { from, to: from + (c === undefined ? 0xffff : 0xff) }
  }
  const address = canonicalAddress(text)
  if (address === undefined) return undefined
  const number = address.includes(':') ? lastGroups(address) : offsetOf(address)
  const isOurs = number >= 0 && Object.values(overlayAddressesOf(tenant, number)).includes(address)
  return isOurs ? { from: number, to: number } : undefined
}
/** Number in the last two groups of an IPv6 address in canonical form. */
const lastGroups = (address: string): number => {
  const [low = '', high = ''] = address.split(':').reverse()
  return (Number.parseInt(high || '0', 16) << 16) + Number.parseInt(low || '0', 16)
}
const offsetOf = (address: string): number =>
  address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0) - ((100 << 24) + (64 << 16))

/** RFC 5952 form of eight groups whose longest run of zeros is in the middle. */
function spell(groups: readonly number[]): string {
  let [from, to] = [3, 6]
  while (groups[from - 1] === 0) from--
  while (groups[to] === 0) to++
  const text = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':')
  return `${text(groups.slice(0, from))}::${text(groups.slice(to))}`
}

const prefixes = new Map<TenantId, readonly number[]>()
const mostPrefixes = 10_000

function prefixOf(tenant: TenantId): readonly number[] {
  const known = prefixes.get(tenant)
  if (known) return known
  const hash = createHash('sha256').update(tenant).digest()
  const prefix = [0xfd00 | hash.readUInt8(0), hash.readUInt16BE(1), hash.readUInt16BE(3)]
  if (prefixes.size >= mostPrefixes) prefixes.clear()
  prefixes.set(tenant, prefix)
  return prefix
}
