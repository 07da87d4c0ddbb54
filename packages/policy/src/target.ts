import { parseAddress } from './network.ts'
import { type Ports, type Protocol, portsAsked } from './ports.ts'

/**
 * Target of a connection: a resource, host or DNS name, or an address. Without `port` any port of the protocol; without
 * `protocol` any of tcp, udp and icmp.
 */
export type Target = ({ name: string } | { address: string }) & { protocol?: Protocol; port?: number }

/**
 * Parses the text form of tests: `db`, `db:tcp/5432`, `10.1.2.3:tcp/22`, `[fd00::1]:udp/53`, `git.example.com`. Null if
 * it is invalid.
 */
export function parseTarget(text: string): Target | null {
  const cut = splitPort(text)
  if (!cut) return null
  const place = cut.bracketed || parseAddress(cut.place) !== null ? { address: cut.place } : { name: cut.place }
  if ('address' in place ? parseAddress(place.address) === null : place.name === '' || place.name.includes(':'))
    return null
  if (cut.port === null) return place
  const slash = cut.port.indexOf('/')
  const protocol = slash < 0 ? cut.port : cut.port.slice(0, slash)
  const rest = slash < 0 ? '*' : cut.port.slice(slash + 1)
  if (protocol === 'icmp') return slash < 0 ? { ...place, protocol } : null
  if (protocol !== 'tcp' && protocol !== 'udp') return null
  if (rest === '*') return { ...place, protocol }
  const port = Number(rest)
  return String(port) === rest && Number.isInteger(port) && port >= 1 && port <= 65_535
    ? { ...place, protocol, port }
    : null
}

function splitPort(text: string): { place: string; port: string | null; bracketed: boolean } | null {
  if (text.startsWith('[')) {
    const close = text.indexOf(']')
    const rest = text.slice(close + 1)
    if (close < 0 || (rest !== '' && !rest.startsWith(':'))) return null
    return { place: text.slice(1, close), port: rest === '' ? null : rest.slice(1), bracketed: true }
  }
  const colon = text.lastIndexOf(':')
  if (colon < 0 || parseAddress(text) !== null) return { place: text, port: null, bracketed: false }
  return { place: text.slice(0, colon), port: text.slice(colon + 1), bracketed: false }
}

export const portsOfTarget = ({ protocol, port }: Target): Ports => portsAsked(protocol, port)

export const textOfTarget = (target: Target): string => {
  const place = 'name' in target ? target.name : target.address.includes(':') ? `[${target.address}]` : target.address
  if (!target.protocol) return target.port === undefined ? place : `${place}:${target.port}`
  return `${place}:${target.protocol}${target.port === undefined || target.protocol === 'icmp' ? '' : `/${target.port}`}`
}
