import type { PolicyRule } from '@holdfast/contract/policy-document'
import { type AtomIndex, idOf, indexAtoms } from './atoms.ts'
import { type Bits, setBit, wordsFor } from './bits.ts'
import { type Destination, destinationOf, indexDestinations } from './destinations.ts'
import { type AddressRange, networkOf } from './network.ts'
import { intersectPorts, type Ports, portsOf } from './ports.ts'
import { type CompiledCheck, compileCheck } from './posture.ts'
import type { ResolvedPolicy } from './references.ts'
import type { Shape } from './shapes.ts'
import { compileWindow, type TimeWindow } from './time-window.ts'

/** A destination by its index, with the ports that the rule allows on it. */
type Reach = { readonly destination: number; readonly ports: Ports }

export type CompiledRule = {
  readonly id: string
  readonly action: 'allow' | 'deny'
  readonly rule: PolicyRule
  readonly reaches: readonly Reach[]
  /** Indices of the posture checks that the rule requires. */
  readonly checks: readonly number[]
  readonly windows: readonly TimeWindow[]
  readonly sources: readonly AddressRange[]
  readonly expiresAt: number
  /** Gateway pools by pool_id, sorted. */
  readonly via: readonly string[]
}

/**
 * A policy compiled for evaluation. Rules, checks and destinations are sorted by name and identified by index, so their
 * order in the document does not matter.
 */
export type CompiledPolicy = {
  readonly resolved: ResolvedPolicy
  readonly rules: readonly CompiledRule[]
  readonly checks: readonly CompiledCheck[]
  readonly destinations: readonly Destination[]
  /** Returns the destinations that overlap a shape. */
  readonly findDestinations: (shape: Shape) => Set<number>
  /** By destination: the rules that name it. */
  readonly rulesTo: readonly (readonly { readonly rule: number; readonly ports: Ports }[])[]
  readonly from: AtomIndex
  readonly except: AtomIndex
  /** By check: the rules that require it. */
  readonly requiredBy: readonly Bits[]
}

/** Compiles a document that `checkDocument` accepted and `resolveDocument` resolved. Throws on any other. */
export function compilePolicy(resolved: ResolvedPolicy): CompiledPolicy {
  const { document } = resolved
  const sources = [...document.rules].sort(byText((rule) => rule.id))
  const checks = Object.entries(document.posture_checks ?? {})
    .sort(byText(([id]) => id))
    .map(([id, check]) => compileCheck(id, check))
  const checkIndex = new Map(checks.map((check, i) => [check.id, i]))

  const named = new Map<string, Destination>()
  for (const { to } of sources) {
    for (const name of to) if (!named.has(name)) named.set(name, destinationOf(document, name))
  }
  const destinations = [...new Map([...named.values()].map((d) => [d.name, d])).values()].sort(byText((d) => d.name))
  const destinationIndex = new Map(destinations.map((d, i) => [d.name, i]))

  const rules = sources.map((rule): CompiledRule => {
    const asked = portsOf(rule.ports)
    const targets = new Map(rule.to.map((name) => lookUp(named, name)).map((d) => [d.name, d]))
    return {
      id: rule.id,
      action: rule.action,
      rule,
      reaches: [...targets.values()].map((d) => ({
        destination: lookUp(destinationIndex, d.name),
        ports: intersectPorts(asked, d.ports),
      })),
      checks: (rule.when?.posture ?? []).map((id) => lookUp(checkIndex, id)),
      windows: (rule.when?.time ?? []).map(compileWindow),
      sources: (rule.when?.cidrs ?? []).map((cidr) => networkOf(cidr).range),
      expiresAt: rule.expires_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(rule.expires_at),
      via: [...new Set((rule.via ?? []).map((name) => idOf(resolved.pools, name)))].sort(),
    }
  })

  const rulesTo: { rule: number; ports: Ports }[][] = destinations.map(() => [])
  const requiredBy = checks.map(() => new Uint32Array(wordsFor(rules.length)))
  for (const [rule, { reaches, checks }] of rules.entries()) {
    for (const { destination, ports } of reaches) rulesTo[destination]?.push({ rule, ports })
    for (const check of checks) setBit(requiredBy[check] ?? new Uint32Array(), rule)
  }
  return {
    resolved,
    rules,
    checks,
    destinations,
    findDestinations: indexDestinations(destinations),
    rulesTo,
    from: indexAtoms(
      sources.map(({ from }) => from),
      resolved,
    ),
    except: indexAtoms(
      sources.map(({ except }) => except),
      resolved,
    ),
    requiredBy,
  }
}

/** Compares by code unit, the same on every machine. */
export const byText =
  <T>(textOf: (item: T) => string) =>
  (a: T, b: T): number =>
    textOf(a) < textOf(b) ? -1 : textOf(a) > textOf(b) ? 1 : 0

function lookUp<V>(map: ReadonlyMap<string, V>, key: string): V {
  const value = map.get(key)
  if (value === undefined) throw new Error(`the document names "${key}" but does not define it`)
  return value
}
