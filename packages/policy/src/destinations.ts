import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { networkOf } from './network.ts'
import { everyPort, type Ports, portsOf } from './ports.ts'
import { common, dnsShape, everything, networkShape, type Shape } from './shapes.ts'

/** A destination that rules can name in `to`: a resource, a host, a network, or everything. */
export type Destination = { readonly name: string; readonly shapes: readonly Shape[]; readonly ports: Ports }

/** Returns the destination of a name in `to`. A network is named by its canonical form. */
export function destinationOf(document: PolicyDocument, name: string): Destination {
  if (name === '*') return { name, shapes: [everything], ports: everyPort }
  const { hosts = {}, resources = {} } = document
  const resource = Object.hasOwn(resources, name) ? resources[name] : undefined
  if (resource) {
    const { cidrs = [], dns = [], services = [], ports } = resource
    const named = services.map((service): Shape => ({ kind: 'service', name: service }))
    return { name, shapes: [...cidrs.map(networkShape), ...dns.map(dnsShape), ...named], ports: portsOf(ports) }
  }
  const host = Object.hasOwn(hosts, name) ? hosts[name] : undefined
  const { cidr } = networkOf(host ?? name)
  return { name: host === undefined ? cidr : name, shapes: [networkShape(cidr)], ports: everyPort }
}

type Entry = { readonly shape: Shape; readonly destination: number }

/**
 * Finds the destinations that overlap a shape, without testing each one. Those that contain it are found by its
 * prefixes or parent domains. Those inside it are adjacent in sort order.
 */
export function indexDestinations(destinations: readonly Destination[]): (shape: Shape) => Set<number> {
  const unbounded: number[] = []
  const services = new Map<string, number[]>()
  const names: Entry[] = []
  const domains = new Map<string, number[]>()
  const ranges: { lo: bigint; hi: bigint; destination: number }[] = []
  const sizes = new Set<bigint>()
  const networks = new Map<string, number[]>()
  const push = (map: Map<string, number[]>, key: string, value: number): void => {
    const list = map.get(key)
    if (list) list.push(value)
    else map.set(key, [value])
  }

  for (const [destination, { shapes }] of destinations.entries()) {
    for (const shape of shapes) {
      if (shape.kind === 'everything') unbounded.push(destination)
      else if (shape.kind === 'service') push(services, shape.name, destination)
      else if (shape.kind === 'dns') {
        names.push({ shape, destination })
        push(domains, shape.below ? `*.${shape.name}` : shape.name, destination)
      } else {
        const { lo, hi } = shape.range
        ranges.push({ lo, hi, destination })
        sizes.add(hi - lo)
        push(networks, `${lo}/${hi - lo}`, destination)
      }
    }
  }
  ranges.sort((a, b) => (a.lo < b.lo ? -1 : a.lo > b.lo ? 1 : 0))

  const findNames = (name: string, below: boolean, found: Set<number>): void => {
    if (below) {
      const domain: Shape = { kind: 'dns', name, below }
      for (const entry of names) if (common(entry.shape, domain)) found.add(entry.destination)
      return
    }
    for (const d of domains.get(name) ?? []) found.add(d)
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      for (const d of domains.get(`*.${name.slice(dot + 1)}`) ?? []) found.add(d)
    }
  }
  const findNetworks = (lo: bigint, hi: bigint, found: Set<number>): void => {
    for (const size of sizes) {
      if (size < hi - lo) continue
      for (const d of networks.get(`${lo & ~size}/${size}`) ?? []) found.add(d)
    }
    if (lo === hi) return
    for (let i = firstFrom(ranges, lo); i < ranges.length; i++) {
      const range = ranges[i]
      if (!range || range.lo > hi) break
      found.add(range.destination)
    }
  }

  return (shape) => {
    const found = new Set(unbounded)
    if (shape.kind === 'everything') for (const d of destinations.keys()) found.add(d)
    else if (shape.kind === 'service') for (const d of services.get(shape.name) ?? []) found.add(d)
    else if (shape.kind === 'dns') findNames(shape.name, shape.below, found)
    else findNetworks(shape.range.lo, shape.range.hi, found)
    return found
  }
}

/** Returns the index of the first range that starts at or after `lo`; the ranges are sorted by `lo`. */
function firstFrom(ranges: readonly { lo: bigint }[], lo: bigint): number {
  let [from, to] = [0, ranges.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((ranges[middle]?.lo ?? lo) < lo) from = middle + 1
    else to = middle
  }
  return from
}
