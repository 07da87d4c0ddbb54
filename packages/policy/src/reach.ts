import type { CompiledPolicy, CompiledRule } from './compile.ts'
import { destinationOf } from './destinations.ts'
import type { AddressRange } from './network.ts'
import { intersectPorts, type Ports, subtractPorts } from './ports.ts'
import { addressShape, common, covers, dnsShape, isHostName, type Shape } from './shapes.ts'
import { portsOfTarget, type Target, textOfTarget } from './target.ts'

/** A target as sets, and the rules that overlap it, ascending. */
export type Aim = {
  readonly shapes: readonly Shape[]
  readonly ports: Ports
  readonly rules: readonly number[]
  readonly problem: string | null
}

const aims = new WeakMap<CompiledPolicy, Map<string, Aim>>()
const maxAims = 8_192

/** Returns the aim of a target in a policy. Cached, because the same few targets are requested repeatedly. */
export function aimAt(compiled: CompiledPolicy, target: Target): Aim {
  const known = aims.get(compiled) ?? new Map<string, Aim>()
  aims.set(compiled, known)
  const key = `${'name' in target ? 'n' : 'a'} ${textOfTarget(target)}`
  const before = known.get(key)
  if (before) return before
  if (known.size >= maxAims) known.clear()
  const aim = createAim(compiled, target)
  known.set(key, aim)
  return aim
}

function createAim(compiled: CompiledPolicy, target: Target): Aim {
  const asked = portsOfTarget(target)
  const nowhere = (problem: string): Aim => ({ shapes: [], ports: asked, rules: [], problem })
  const { hosts = {}, resources = {} } = compiled.resolved.document
  if ('address' in target) {
    const shape = addressShape(target.address)
    return shape ? aimOf(compiled, [shape], asked) : nowhere(`"${target.address}" is not an IP address`)
  }
  const { name } = target
  if (!Object.hasOwn(resources, name) && !Object.hasOwn(hosts, name)) {
    return isHostName(name) ? aimOf(compiled, [dnsShape(name)], asked) : nowhere(`unknown resource or host "${name}"`)
  }
  const { shapes, ports } = destinationOf(compiled.resolved.document, name)
  const open = intersectPorts(asked, ports)
  return open.length > 0 ? aimOf(compiled, shapes, open) : nowhere(`"${name}" does not include this port`)
}

function aimOf(compiled: CompiledPolicy, shapes: readonly Shape[], ports: Ports): Aim {
  const rules = new Set<number>()
  for (const shape of shapes) {
    for (const destination of compiled.findDestinations(shape)) {
      for (const to of compiled.rulesTo[destination] ?? []) {
        if (intersectPorts(to.ports, ports).length > 0) rules.add(to.rule)
      }
    }
  }
  return { shapes, ports, rules: [...rules].sort((a, b) => a - b), problem: null }
}

/**
 * True if `allow` reaches a part of the aim that none of `denies` covers. Exact, because shapes are nested or disjoint.
 */
export function reachesSome(
  compiled: CompiledPolicy,
  aim: Aim,
  allow: CompiledRule,
  denies: readonly CompiledRule[],
): boolean {
  const denied = denies.flatMap((deny) => partsOf(compiled, aim, deny))
  return partsOf(compiled, aim, allow).some((part) => leavesSome(part, denied))
}

type Part = { readonly shape: Shape; readonly ports: Ports }

function partsOf(compiled: CompiledPolicy, aim: Aim, { reaches }: CompiledRule): Part[] {
  return reaches.flatMap((reach) => {
    const ports = intersectPorts(reach.ports, aim.ports)
    if (ports.length === 0) return []
    const shapes = compiled.destinations[reach.destination]?.shapes ?? []
    return shapes
      .flatMap((shape) => aim.shapes.flatMap((asked) => common(shape, asked) ?? []))
      .map((shape) => ({ shape, ports }))
  })
}

/** Returns the names in `to` of a rule that overlap the aim. */
export const destinationsTowards = (compiled: CompiledPolicy, aim: Aim, rule: CompiledRule): string[] =>
  rule.reaches.flatMap((reach) => {
    const { name } = compiled.destinations[reach.destination] ?? {}
    return name !== undefined && partsOf(compiled, aim, { ...rule, reaches: [reach] }).length > 0 ? [name] : []
  })

function leavesSome({ shape, ports }: Part, denied: readonly Part[]): boolean {
  if (shape.kind === 'range') return leavesAddress(shape.range, ports, denied)
  // A domain has more names than any list of rules denies. Only a deny of the whole domain covers them all.
  const whole = denied.filter((part) => covers(part.shape, shape))
  return whole.reduce((left, part) => subtractPorts(left, part.ports), ports).length > 0
}

/**
 * Scans the range. If the denied parts leave no port, they leave none up to the end of the shortest of them, because
 * until there parts can only be added.
 */
function leavesAddress({ lo, hi }: AddressRange, ports: Ports, denied: readonly Part[]): boolean {
  const waiting = denied
    .flatMap(({ shape, ports }) => (shape.kind === 'range' ? { range: shape.range, ports } : []))
    .filter(({ range }) => range.lo <= hi && range.hi >= lo)
    .sort((a, b) => (a.range.lo < b.range.lo ? 1 : -1))
  let active: typeof waiting = []
  let at = lo
  while (at <= hi) {
    active = active.filter(({ range }) => range.hi >= at)
    for (let next = waiting.at(-1); next && next.range.lo <= at; next = waiting.at(-1)) {
      active.push(next)
      waiting.pop()
    }
    if (active.reduce((left, part) => subtractPorts(left, part.ports), ports).length > 0) return true
    at = active.reduce((end, { range }) => (range.hi < end ? range.hi : end), hi) + 1n
  }
  return false
}
