import type { IncomingMessage } from 'node:http'
import { isIPv4 } from 'node:net'
import { canonicalAddress, isWithin } from '../kernel/cidr.ts'

/**
 * The address that a request comes from: the socket's, or, where that is a trusted proxy, the last address of
 * X-Forwarded-For that is not one.
 */
export function sourceIp(socketAddress: string, forwardedFor: string | undefined, trusted: readonly string[]): string {
  if (isIPv4(socketAddress) && !forwardedFor) return socketAddress
  let address = canonicalAddress(socketAddress) ?? socketAddress
  if (trusted.length === 0 || !forwardedFor) return address
  for (const hop of forwardedFor
    .split(',')
    .map((s) => s.trim())
    .reverse()) {
    if (!isWithin(address, trusted)) break
    const next = canonicalAddress(hop)
    if (!next) break
    address = next
  }
  return address
}

type Headers = Pick<IncomingMessage, 'headers' | 'socket'>
export function sourceOf({ headers, socket }: Headers, trusted: readonly string[]): string {
  const forwarded = headers['x-forwarded-for']
  return sourceIp(socket.remoteAddress ?? '', Array.isArray(forwarded) ? forwarded.join(',') : forwarded, trusted)
}
