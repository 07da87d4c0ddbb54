/**
 * Ports of tcp and udp, and icmp, as numbers on one line with gaps between the protocols. So a set of ports is a sorted
 * list of ranges that never touch.
 */
export type PortRange = readonly [lo: number, hi: number]
export type Ports = readonly PortRange[]
export type Protocol = 'tcp' | 'udp' | 'icmp'

const last = 65_535
const base = { tcp: 0, udp: 100_000, icmp: 200_000 } as const

const all = (protocol: Protocol): PortRange =>
  protocol === 'icmp' ? [base.icmp, base.icmp] : [base[protocol] + 1, base[protocol] + last]

export const everyPort: Ports = [all('tcp'), all('udp'), all('icmp')]

/**
 * Parses an entry such as `tcp/443`, `udp/1000-2000`, `tcp/*` or `icmp`. Null if it is invalid, or if the range is
 * reversed.
 */
export function parsePort(text: string): PortRange | null {
  if (text === 'icmp') return all('icmp')
  const slash = text.indexOf('/')
  const protocol = text.slice(0, slash)
  if (protocol !== 'tcp' && protocol !== 'udp') return null
  const rest = text.slice(slash + 1)
  if (rest === '*') return all(protocol)
  const dash = rest.indexOf('-')
  const from = readPort(dash < 0 ? rest : rest.slice(0, dash))
  const to = dash < 0 ? from : readPort(rest.slice(dash + 1))
  return from && to && from <= to ? [base[protocol] + from, base[protocol] + to] : null
}

function readPort(text: string): number | null {
  const value = Number(text)
  return String(value) === text && Number.isInteger(value) && value >= 1 && value <= last ? value : null
}

/** Returns the union of checked entries. Undefined means every port. */
export function portsOf(entries: readonly string[] | undefined): Ports {
  if (!entries) return everyPort
  return merged(entries.map(parsePort).filter((range) => range !== null))
}

/** Returns the requested ports: without a port all ports of the protocol, without a protocol those of all protocols. */
export function portsAsked(protocol: Protocol | undefined, port: number | undefined): Ports {
  if (protocol === 'icmp') return [all('icmp')]
  if (port === undefined) return protocol ? [all(protocol)] : everyPort
  return protocol ? [portAt(protocol, port)] : [portAt('tcp', port), portAt('udp', port)]
}

const portAt = (protocol: 'tcp' | 'udp', port: number): PortRange => {
  if (!Number.isInteger(port) || port < 1 || port > last) throw new RangeError(`no port ${port}`)
  return [base[protocol] + port, base[protocol] + port]
}

export const unitePorts = (a: Ports, b: Ports): Ports => merged([...a, ...b])

/** Returns the protocol and the ports of a range. `ports` is null if the protocol has none. */
export function readRange([lo, hi]: PortRange): { protocol: Protocol; ports: readonly [number, number] | null } {
  if (lo >= base.icmp) return { protocol: 'icmp', ports: null }
  const protocol = lo >= base.udp ? 'udp' : 'tcp'
  return { protocol, ports: [lo - base[protocol], hi - base[protocol]] }
}

function merged(ranges: PortRange[]): Ports {
  const out: [number, number][] = []
  for (const [lo, hi] of ranges.sort((a, b) => a[0] - b[0])) {
    const before = out.at(-1)
    if (before && lo <= before[1] + 1) before[1] = Math.max(before[1], hi)
    else out.push([lo, hi])
  }
  return out
}

export function intersectPorts(a: Ports, b: Ports): Ports {
  if (a === everyPort) return b
  if (b === everyPort) return a
  const out: PortRange[] = []
  for (const [alo, ahi] of a) {
    for (const [blo, bhi] of b) {
      const lo = Math.max(alo, blo)
      const hi = Math.min(ahi, bhi)
      if (lo <= hi) out.push([lo, hi])
    }
  }
  return out
}

export function subtractPorts(a: Ports, b: Ports): Ports {
  let left = a
  for (const [lo, hi] of b) {
    left = left.flatMap((range): Ports => {
      if (hi < range[0] || lo > range[1]) return [range]
      const rest: PortRange[] = []
      if (range[0] < lo) rest.push([range[0], lo - 1])
      if (range[1] > hi) rest.push([hi + 1, range[1]])
      return rest
    })
  }
  return left
}

/** Returns the canonical form of a set of ports: equal sets have equal entries. */
export const formatPorts = (ports: Ports): string[] => ports.map(formatRange)

function formatRange([lo, hi]: PortRange): string {
  const { protocol, ports } = readRange([lo, hi])
  if (!ports) return protocol
  const [from, to] = ports
  if (from === 1 && to === last) return `${protocol}/*`
  return from === to ? `${protocol}/${from}` : `${protocol}/${from}-${to}`
}
