import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Parses an address. IPv6-mapped IPv4 addresses become IPv4. Node accepts some zones for which the library throws. */
const parse = (text: string) => (isIP(text) && ipaddr.isValid(text) ? ipaddr.process(text) : undefined)

/** Canonical form of an address: RFC 5952 for IPv6. */
const spell = (ip: ipaddr.IPv4 | ipaddr.IPv6): string =>
  ip instanceof ipaddr.IPv6 ? ip.toRFC5952String() : ip.toString()

/** Returns the address in canonical form, or undefined if it is no address. */
export const canonicalAddress = (text: string): string | undefined => {
  // Every IPv4 address that Node accepts is canonical: it allows no leading zeros.
  if (isIPv4(text)) return text
  const ip = parse(text)
  return ip && spell(ip)
}

/** True if an address is in one of these CIDRs (or equals one of these addresses). */
export function isWithin(address: string, cidrs: readonly string[]): boolean {
  const ip = parse(address)
  if (!ip) return false
  return cidrs.some((cidr) => {
    const [net, bits] = blockOf(cidr)
    return net.kind() === ip.kind() && ip.match(net, bits)
  })
}

/** True if a whole CIDR (or address) is in one of these. */
export function isPartOf(cidr: string, cidrs: readonly string[]): boolean {
  const [net, bits] = blockOf(cidr)
  return cidrs.some((outer) => {
    const [outerNet, outerBits] = blockOf(outer)
    return outerNet.kind() === net.kind() && outerBits <= bits && net.match(outerNet, outerBits)
  })
}

const blockOf = (cidr: string) => (cidr.includes('/') ? ipaddr.parseCIDR(cidr) : wholeAddress(cidr))
const wholeAddress = (text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] => {
  const ip = ipaddr.process(text)
  return [ip, ip.kind() === 'ipv4' ? 32 : 128]
}

/** True for an address or a CIDR in plain notation: four decimal parts, or IPv6 without a zone. */
export function isCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const version = address.includes('%') ? 0 : isIP(address)
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

/**
 * Returns the unit by which attempts from an address are counted: the address, or for IPv6 its /64, which one client
 * owns.
 */
export function sourceBlock(address: string): string {
  const ip = parse(address)
  if (!(ip instanceof ipaddr.IPv6)) return ip?.toString() ?? address
  return `${spell(new ipaddr.IPv6([...ip.parts.slice(0, 4), 0, 0, 0, 0]))}/64`
}
