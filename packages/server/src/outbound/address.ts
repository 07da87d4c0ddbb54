import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { isWithin } from '../kernel/cidr.ts'

/** The address in an URL's host name, without the brackets of IPv6; undefined where it is a name. */
export function literalOf(hostname: string): string | undefined {
  const text = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname
  return isIP(text) === 0 ? undefined : text
}

/**
 * Whether the public internet has this address: IPv4 outside every special-purpose range, IPv6 inside the block from
 * which addresses are given out (2000::/3). What embeds IPv4 (mapped, NAT64, 6to4, Teredo) is unmapped or refused.
 */
export function isPublic(address: string): boolean {
  // Node takes zones that the library throws for.
  if (isIP(address) === 0 || !ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  if (ip.range() !== 'unicast') return false
  return ip instanceof ipaddr.IPv4 || ip.match(ipaddr.IPv6.parse('2000::'), 3)
}

/** Public, or in a network that the deployment has opened. */
export const mayReach = (address: string, allowedPrivateCidrs: readonly string[]): boolean =>
  isPublic(address) || isWithin(address, allowedPrivateCidrs)
