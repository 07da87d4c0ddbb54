import type { IncomingMessage } from 'node:http'
import { isIPv4 } from 'node:net'
import { canonicalAddress, isWithin } from '../kernel/cidr.ts'

/**
 * The address that a request comes from: the socket's, or, where that is a trusted proxy, the last address of
 * X-Forwarded-For that is not one.
 */
export function sourceOf(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  trusted: readonly string[],
): string {
  const { remoteAddress = '' } = socket
  const forwarded = String(headers['x-forwarded-for'] ?? '')
  if (isIPv4(remoteAddress) && !forwarded) return remoteAddress
  let address = canonicalAddress(remoteAddress) ?? remoteAddress
  if (trusted.length === 0 || !forwarded) return address
  for (const hop of forwarded.split(',').reverse()) {
    const next = isWithin(address, trusted) ? canonicalAddress(hop.trim()) : undefined
    if (!next) break
    address = next
  }
  return address
}
