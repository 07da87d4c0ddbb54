import {
  type Conditioned,
  type ConnectionContext,
  connectionConditions,
  isMet,
  sourceOf,
  untilOf,
} from './conditions.ts'
import { type AddressRange, everyAddress, isV4, networkOf, parseAddress, textOfPoint } from './network.ts'
import { everyPort, intersectPorts, type Ports, type Protocol, portsOf, readRange } from './ports.ts'
import { covers, dnsShape, type Shape } from './shapes.ts'
import { type Plot, type Rectangle, sweep } from './sweep.ts'
import { compileWindow } from './time-window.ts'
import type { VariantContent } from './variant.ts'

/** Reachable addresses from `first` to `last` and ports from one to another, both inclusive. */
export type Box = {
  readonly family: 'ipv4' | 'ipv6'
  readonly first: string
  readonly last: string
  readonly protocol: Protocol
  /** Null: the protocol has no ports. */
  readonly ports: readonly [from: number, to: number] | null
  /** Rules that require a log entry for each connection. */
  readonly log: readonly string[]
}

export type Flattening = {
  /** pool_id of the requesting gateway. */
  readonly pool: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Facts of the connection. An absent one is unknown: it fails an allow rule, and disables no deny rule. */
  readonly connection: Omit<ConnectionContext, 'at'>
  /** By DNS name: the addresses to which the gateway has resolved it. */
  readonly names: ReadonlyMap<string, readonly string[]>
  /** By name of a service of the pool: its addresses and networks. */
  readonly services?: ReadonlyMap<string, readonly string[]>
}

/**
 * Computes the targets that a device with this variant may reach through a gateway, as sorted boxes that do not
 * overlap. Deny takes precedence. An allow rule applies at the pools of its `via`, otherwise at those of its
 * destinations. A deny rule applies at every pool. The boxes stay the same until `valid_until` (null: forever); then
 * they must be computed again.
 */
export function flatten(
  content: VariantContent,
  { pool, at, connection, names, services }: Flattening,
): { boxes: Box[]; valid_until: number | null } {
  const context = { ...connection, at }
  const source = sourceOf(context)
  const known = { names: namesOf(names), services: services ?? new Map<string, readonly string[]>() }
  const opened: Plot[] = []
  const shut: Plot[] = []
  let until = Number.POSITIVE_INFINITY
  for (const rule of readVariant(content)) {
    const places = rule.places.filter((place) => leadsThrough(rule, place, pool))
    if (places.length === 0) continue
    const conditions = connectionConditions(rule, { context, source })
    until = Math.min(until, untilOf(rule, conditions))
    if (!conditions.every((condition) => isMet(rule, condition))) continue
    const plots = rule.action === 'allow' ? opened : shut
    for (const { shapes, ports } of places)
      for (const shape of shapes)
        for (const range of rangesOf(shape, known)) plots.push({ range, ports, log: rule.log })
  }
  return { boxes: boxesOf(sweep(opened, shut)), valid_until: Number.isFinite(until) ? until : null }
}

function boxesOf(rectangles: readonly Rectangle[]): Box[] {
  // Cached, because the same few addresses bound many boxes.
  const texts = new Map<bigint, string>()
  const textOf = (point: bigint): string => {
    const text = texts.get(point) ?? textOfPoint(point)
    texts.set(point, text)
    return text
  }
  return rectangles.map(({ range, ports, log }) => ({
    family: isV4(range.lo) ? 'ipv4' : 'ipv6',
    first: textOf(range.lo),
    last: textOf(range.hi),
    ...readRange(ports),
    log,
  }))
}

/** A destination of a rule, with the ports that both the rule and the resource allow. */
type Place = { readonly shapes: readonly Shape[]; readonly ports: Ports; readonly pool: string | undefined }
type ReadRule = Conditioned & {
  readonly places: readonly Place[]
  readonly via: readonly string[] | undefined
  readonly log: string | null
}

const leadsThrough = ({ action, via }: ReadRule, place: Place, pool: string): boolean =>
  action === 'deny' || (via ? via.includes(pool) : place.pool === undefined || place.pool === pool)

const readings = new WeakMap<VariantContent, readonly ReadRule[]>()

/** Cached, because many devices share a variant, and each change by time computes their boxes again. */
function readVariant(content: VariantContent): readonly ReadRule[] {
  const known = readings.get(content)
  if (known) return known
  const rules = content.rules.map((rule): ReadRule => {
    const asked = portsOf(rule.ports)
    return {
      action: rule.action,
      rule,
      windows: (rule.when?.time ?? []).map(compileWindow),
      sources: (rule.when?.cidrs ?? []).map((cidr) => networkOf(cidr).range),
      expiresAt: rule.expires_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(rule.expires_at),
      via: rule.via,
      log: rule.log ? rule.id : null,
      places: rule.to.map((name) => placeOf(content, name, asked)),
    }
  })
  readings.set(content, rules)
  return rules
}

function placeOf({ resources }: VariantContent, name: string, asked: Ports): Place {
  if (name === '*') return { shapes: [{ kind: 'everything' }], ports: asked, pool: undefined }
  const resource = Object.hasOwn(resources, name) ? resources[name] : undefined
  const { cidrs = [], dns = [], services = [], ports, pool } = resource ?? { cidrs: [name] }
  const shapes = [
    ...cidrs.map((cidr): Shape => ({ kind: 'range', range: networkOf(cidr).range })),
    ...dns.map(dnsShape),
    ...services.map((service): Shape => ({ kind: 'service', name: service })),
  ]
  return { shapes, ports: intersectPorts(asked, ports ? portsOf(ports) : everyPort), pool }
}

type Known = {
  readonly names: readonly { readonly shape: Shape; readonly addresses: readonly string[] }[]
  readonly services: ReadonlyMap<string, readonly string[]>
}

const namesOf = (names: Flattening['names']): Known['names'] =>
  [...names].map(([name, addresses]) => ({ shape: dnsShape(name), addresses }))

/** Leaves out a resolver result that is no address. */
const rangeOf = (address: string): AddressRange[] => {
  const point = parseAddress(address)
  return point === null ? [] : [{ lo: point, hi: point }]
}

function rangesOf(shape: Shape, { names, services }: Known): readonly AddressRange[] {
  if (shape.kind === 'everything') return everyAddress
  if (shape.kind === 'range') return [shape.range]
  if (shape.kind === 'service') return (services.get(shape.name) ?? []).map((cidr) => networkOf(cidr).range)
  return names.flatMap((known) => (covers(shape, known.shape) ? known.addresses.flatMap(rangeOf) : []))
}
