import type { IncomingMessage } from 'node:http'
import { isIPv4 } from 'node:net'
import { canonicalAddress, isWithin } from '../../kernel/cidr.ts'
import type { Log } from '../../kernel/log.ts'

/** Returns the client address of a request. */
export type SourceOf = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string

/**
 * Returns a function for the client address: the socket's or, if that is a trusted proxy, the last address of
 * X-Forwarded-For that is not one. A port or IPv6 brackets that some proxies add are removed. An element without an
 * address ends the search, so the request counts as the proxy's; the first one per process is logged.
 */
export function createSourceOf(trusted: readonly string[], log: Pick<Log, 'warn'>): SourceOf {
  let isLogged = false
  function unreadable(hop: string, proxy: string): void {
    if (isLogged) return
    isLogged = true
    log.warn(
      { proxy, element: hop.slice(0, 64) },
      'X-Forwarded-For contains an invalid address; the address of the proxy is used as the source. Further cases are not logged',
    )
  }
  return ({ headers, socket }) => {
    const { remoteAddress = '' } = socket
    const forwarded = String(headers['x-forwarded-for'] ?? '')
    if (isIPv4(remoteAddress) && !forwarded) return remoteAddress
    let address = canonicalAddress(remoteAddress) ?? remoteAddress
    if (trusted.length === 0 || !forwarded) return address
    for (const element of forwarded.split(',').reverse()) {
      const hop = element.trim()
      // RFC 9110 §5.6.1: a recipient ignores empty elements of a list.
      if (hop === '') continue
      if (!isWithin(address, trusted)) break
      const next = addressIn(hop)
      if (next === undefined) {
        unreadable(hop, address)
        break
      }
      address = next
    }
    return address
  }
}

/** `203.0.113.9`, `203.0.113.9:51234`, `2001:db8::5`, `[2001:db8::5]` or `[2001:db8::5]:443`. */
function addressIn(hop: string): string | undefined {
  // A zone is an interface of the proxy's host (RFC 4007 §11), not part of a client's address.
  if (hop.includes('%')) return undefined
  const [, inBrackets, v4, port] = /^(?:\[([^[\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(hop) ?? []
  if (port !== undefined && Number(port) > 65_535) return undefined
  // Brackets are for IPv6, and IPv6 with a port needs them.
  if (inBrackets !== undefined) return isIPv4(inBrackets) ? undefined : canonicalAddress(inBrackets)
  return canonicalAddress(v4 ?? hop)
}
