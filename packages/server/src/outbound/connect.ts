import { lookup } from 'node:dns/promises'
import type { buildConnector } from 'undici'
import { canonicalAddress, isWithin } from '../kernel/cidr.ts'
import { literalOf, mayReach } from './address.ts'
import { OutboundError } from './outbound-error.ts'

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>
export const resolveBySystem: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true, verbatim: true })).map((found) => found.address)

const notAllowed = () => new OutboundError('refused', 'The URL leads to an address that this deployment does not call.')
const httpOnly = () =>
  new OutboundError('refused', 'http:// is for networks that this deployment has opened; use https://.')

/**
 * Of the addresses found those a request may go to. Plain http never leaves the networks that the deployment opened.
 */
export function choose(url: URL, found: readonly string[], allowedPrivateCidrs: readonly string[]): string[] {
  const reachable = found.filter((address) => mayReach(address, allowedPrivateCidrs))
  if (reachable.length === 0) throw notAllowed()
  if (url.protocol === 'https:') return reachable
  const inside = reachable.filter((address) => isWithin(address, allowedPrivateCidrs))
  if (inside.length === 0) throw httpOnly()
  return inside
}

export async function vet(url: URL, resolve: Resolve, allowedPrivateCidrs: readonly string[]): Promise<string[]> {
  const literal = literalOf(url.hostname)
  const found = literal === undefined ? await resolved(url.hostname, resolve) : [literal]
  return choose(url, found, allowedPrivateCidrs)
}

async function resolved(hostname: string, resolve: Resolve): Promise<readonly string[]> {
  try {
    return await resolve(hostname)
  } catch (cause) {
    throw new OutboundError('unresolved', 'The host name of the URL has no address.', cause)
  }
}

/**
 * Connects to one of the vetted addresses and to nothing else: the name is not looked up again, so an answer that
 * changes between check and use changes nothing. A look-up hook is never asked about address literals, so the address
 * on the other end is compared once more when the connection stands.
 */
export function pinnedConnector(
  build: typeof buildConnector,
  addresses: readonly string[],
  timeoutMs: number,
): buildConnector.connector {
  const pinned = new Set(addresses.map(canonicalAddress))
  const connect = build({
    timeout: timeoutMs,
    allowH2: false,
    lookup: (_hostname, options, callback) => {
      const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      if (options.all) callback(null, all)
      else callback(null, all[0]!.address, all[0]!.family)
    },
  })
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error) return callback(error, null)
      if (!pinned.has(canonicalAddress(socket.remoteAddress ?? ''))) {
        socket.destroy()
        return callback(notAllowed(), null)
      }
      return callback(null, socket)
    })
}
