import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { canonicalAddress } from '../kernel/cidr.ts'
import { literalOf } from './address.ts'
import { choose, notAllowed, type Tls, tlsOptions, vet, type Within } from './connect.ts'
import { OutboundError } from './outbound-error.ts'

/** `host` is a name or an address. Without `tls` the connection is unencrypted, which only allowed networks may use. */
export type SocketTarget = { host: string; port: number; tls?: Tls }

/** Allowed ports below 1024: those of syslog (RFC 6587; that of RFC 5425 is above), and 443. */
const lowPorts = [443, 514, 601]
const hostName = /^(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?$/i

const addressed = ({ host, tls }: SocketTarget) => ({ protocol: tls ? 'tls:' : 'tcp:', hostname: host })

/** Checks a destination without looking up its name. Throws OutboundError `refused`. */
export function checkSocket(target: SocketTarget, allowedPrivateCidrs: readonly string[]): void {
  const { host, port } = target
  const literal = literalOf(host)
  if (literal === undefined && !hostName.test(host))
    throw new OutboundError('refused', 'The host must be a host name or an IP address.')
  if (port < 1024 && !lowPorts.includes(port))
    throw new OutboundError('refused', 'The port must be 443, 514, 601, or 1024 or higher.')
  if (literal !== undefined) choose(addressed(target), [literal], allowedPrivateCidrs)
}

/** `signal` ends the whole attempt after `timeoutMs`. */
type Given = Within & { timeoutMs: number }
/** Number of addresses of a name that are tried. */
const mostAddresses = 4

/**
 * Looks the name up once and connects to one of the checked addresses; the remote address is compared again after
 * connecting. Each address gets an equal share of the time, so that a dead one leaves time for the next.
 */
export async function openSocket(target: SocketTarget, given: Given): Promise<Socket> {
  const { timeoutMs, signal } = given
  const found = await vet(addressed(target), given)
  const addresses = found.slice(0, mostAddresses)
  let last: unknown
  for (const address of addresses) {
    const share = AbortSignal.timeout(Math.ceil(timeoutMs / addresses.length))
    try {
      return await openAt(address, target, AbortSignal.any([share, signal]))
    } catch (e) {
      last = share.aborted ? share.reason : e
      if (signal.aborted) break
    }
  }
  throw last
}

async function openAt(address: string, { host, port, tls }: SocketTarget, signal: AbortSignal): Promise<Socket> {
  const raw = createConnection({ host: address, port, noDelay: true, allowHalfOpen: true })
  // The user of the connection handles its end. A later error must not end the process.
  raw.on('error', () => {})
  try {
    await once(raw, 'connect', { signal })
    if (canonicalAddress(raw.remoteAddress ?? '') !== canonicalAddress(address)) throw notAllowed()
    if (!tls) return raw
    const name = literalOf(host) ?? host
    const indication = literalOf(host) === undefined && { servername: host }
    const encrypted = connectTls({ socket: raw, host: name, ...indication, ...tlsOptions(tls) })
    encrypted.on('error', () => {})
    await once(encrypted, 'secureConnect', { signal })
    return encrypted
  } catch (e) {
    raw.destroy()
    throw e
  }
}
