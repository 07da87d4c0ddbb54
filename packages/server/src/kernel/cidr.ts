import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** IPv4 addresses that arrive mapped into IPv6 are IPv4. Node takes zones that the library throws for. */
const parse = (text: string) => (isIP(text) && ipaddr.isValid(text) ? ipaddr.process(text) : undefined)

/** The one spelling of an address: RFC 5952 for IPv6. */
const spell = (ip: ipaddr.IPv4 | ipaddr.IPv6): string =>
  ip instanceof ipaddr.IPv6 ? ip.toRFC5952String() : ip.toString()

/** The address in its one spelling, or undefined for what is no address. */
export const canonicalAddress = (text: string): string | undefined => {
  // What Node takes for IPv4 is in its one spelling: no zeros lead.
  if (isIPv4(text)) return text
  const ip = parse(text)
  return ip && spell(ip)
}

/** Whether an address lies in one of these CIDRs (or equals one of these addresses). */
export function isWithin(address: string, cidrs: readonly string[]): boolean {
  const ip = parse(address)
  if (!ip) return false
  return cidrs.some((cidr) => {
    const [net, bits] = blockOf(cidr)
    return net.kind() === ip.kind() && ip.match(net, bits)
  })
}

/** Whether all of a CIDR (or address) lies in one of these. */
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

/** An address or a CIDR in plain notation: four decimal parts, or IPv6 without a zone. */
export function isCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const version = address.includes('%') ? 0 : isIP(address)
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

/** Whom an address stands for when attempts are counted: itself, or for IPv6 its /64, which one client owns. */
export function sourceBlock(address: string): string {
  const ip = parse(address)
  if (!(ip instanceof ipaddr.IPv6)) return ip?.toString() ?? address
  return `${spell(new ipaddr.IPv6([...ip.parts.slice(0, 4), 0, 0, 0, 0]))}/64`
}
