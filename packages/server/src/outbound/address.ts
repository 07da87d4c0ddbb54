import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { isWithin } from '../kernel/cidr.ts'

/** Returns the address in a URL's host name, without the brackets of IPv6; undefined for a name. */
export function literalOf(hostname: string): string | undefined {
  const text = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname
  return isIP(text) === 0 ? undefined : text
}

/**
 * True for an address of the public internet: IPv4 outside every special-purpose range, IPv6 inside the allocated block
 * (2000::/3). Addresses that embed IPv4 (mapped, NAT64, 6to4, Teredo) are unmapped or refused.
 */
export function isPublic(address: string): boolean {
  // Node accepts zones for which the library throws.
  if (isIP(address) === 0 || !ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  if (ip.range() !== 'unicast') return false
  return ip instanceof ipaddr.IPv4 || ip.match(ipaddr.IPv6.parse('2000::'), 3)
}

/** True for a public address, or one in a network that the deployment allows. */
export const mayReach = (address: string, allowedPrivateCidrs: readonly string[]): boolean =>
  isPublic(address) || isWithin(address, allowedPrivateCidrs)
