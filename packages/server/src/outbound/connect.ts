import { lookup } from 'node:dns/promises'
import type { buildConnector } from 'undici'
import { canonicalAddress, isWithin } from '../kernel/cidr.ts'
import { literalOf, mayReach } from './address.ts'
import type { Lookup, Resolve } from './lookups.ts'
import { OutboundError } from './outbound-error.ts'

export const lookupBySystem: Lookup = async (hostname) =>
  (await lookup(hostname, { all: true, verbatim: true })).map((found) => found.address)

export const notAllowed = () =>
  new OutboundError(
    'refused',
    'The URL leads to an address that this deployment does not allow. Its operator lists the allowed private networks in HOLDFAST_ALLOWED_PRIVATE_CIDRS.',
  )
const plainInside = (protocol: string) =>
  new OutboundError(
    'refused',
    protocol === 'http:'
      ? 'http:// is allowed only for private networks that this deployment allows: use https://.'
      : 'A connection without TLS is allowed only for private networks that this deployment allows.',
  )

/** Destination of a request: a URL, or `tls:` and `tcp:` for a socket. */
type Destination = Pick<URL, 'protocol' | 'hostname'>

/**
 * Returns the found addresses that a request may go to. Unencrypted requests may go only to networks that the
 * deployment allows.
 */
export function choose(to: Destination, found: readonly string[], allowedPrivateCidrs: readonly string[]): string[] {
  const reachable = found.filter((address) => mayReach(address, allowedPrivateCidrs))
  if (reachable.length === 0) throw notAllowed()
  if (to.protocol === 'https:' || to.protocol === 'tls:') return reachable
  const inside = reachable.filter((address) => isWithin(address, allowedPrivateCidrs))
  if (inside.length === 0) throw plainInside(to.protocol)
  return inside
}

/** Resolver of names, allowed networks, and the signal that limits the wait. */
export type Within = { resolve: Resolve; allowedPrivateCidrs: readonly string[]; signal: AbortSignal }
export async function vet(to: Destination, within: Within): Promise<string[]> {
  const literal = literalOf(to.hostname)
  const found = literal === undefined ? await resolved(to.hostname, within) : [literal]
  return choose(to, found, within.allowedPrivateCidrs)
}

async function resolved(hostname: string, { resolve, signal }: Within): Promise<readonly string[]> {
  try {
    return await resolve(hostname, signal)
  } catch (cause) {
    signal.throwIfAborted()
    throw new OutboundError('unresolved', 'The host name of the URL was not found.', cause)
  }
}

/** Trusted authority instead of the public ones, and required name in the certificate instead of the host's. */
export type Tls = { ca: string | null; serverName: string | null }
export const tlsOptions = ({ ca, serverName }: Tls) => ({
  minVersion: 'TLSv1.2' as const,
  ...(ca !== null && { ca }),
  ...(serverName !== null && { servername: serverName }),
})

/**
 * Connects only to one of the vetted addresses: the name is not looked up again, so a changed DNS answer has no effect.
 * The look-up hook is not called for address literals, so the remote address is compared again after connecting.
 */
export function pinnedConnector(
  build: typeof buildConnector,
  addresses: readonly string[],
  { timeoutMs, tls }: { timeoutMs: number; tls: Tls | undefined },
): buildConnector.connector {
  const pinned = new Set(addresses.map(canonicalAddress))
  const connect = build({
    timeout: timeoutMs,
    allowH2: false,
    ...(tls && tlsOptions(tls)),
    lookup: (_hostname, options, callback) => {
      const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      if (options.all) callback(null, all)
      else callback(null, all[0]!.address, all[0]!.family)
    },
  })
  return (options, callback) =>
    connect({ ...options, ...(tls?.serverName && { servername: tls.serverName }) }, (...[error, socket]) => {
      if (error) return callback(error, null)
      if (!pinned.has(canonicalAddress(socket.remoteAddress ?? ''))) {
        socket.destroy()
        return callback(notAllowed(), null)
      }
      return callback(null, socket)
    })
}
