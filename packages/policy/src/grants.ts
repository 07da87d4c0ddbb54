import type { CompiledPolicy, CompiledRule } from './compile.ts'
import { canonicalText } from './diff.ts'
import { formatPorts, type Ports, subtractPorts } from './ports.ts'
import { ruleAt, type Selection } from './select.ts'
import { covers, type Shape } from './shapes.ts'

/** One network, name or service of an allow rule, and the unconditional deny rules that cover it. */
type Part = {
  readonly shape: Shape
  readonly ports: Ports
  readonly terms: string
  readonly whole: string
  readonly deniers: readonly { readonly rule: number; readonly ports: Ports }[]
}

/**
 * Returns the grants of a selection. A grant is one network, name or service, with its ports, conditions and pools. The
 * rule and the name of the resource do not matter. An unconditional deny rule removes its ports from everything that it
 * covers completely. Other deny rules, with conditions or for a part of a network, are ignored here.
 */
export function createGrants(compiled: CompiledPolicy): (selection: Selection) => Set<string> {
  const parts = new Map<number, Part[]>()
  const partsOf = (index: number): Part[] => {
    const known = parts.get(index)
    if (known) return known
    const made = createParts(compiled, ruleAt(compiled, index))
    parts.set(index, made)
    return made
  }
  return ({ rules }) => {
    const denying = new Set(rules.filter((index) => isAlwaysDenying(ruleAt(compiled, index))))
    const grants = new Set<string>()
    for (const index of rules) {
      if (ruleAt(compiled, index).action !== 'allow') continue
      for (const part of partsOf(index)) {
        const grant = grantOf(part, denying)
        if (grant !== null) grants.add(grant)
      }
    }
    return grants
  }
}

function createParts(compiled: CompiledPolicy, rule: CompiledRule): Part[] {
  const { posture: _, ...conditions } = rule.rule.when ?? {}
  const terms = canonicalText({ conditions, until: rule.rule.expires_at, via: rule.via })
  return rule.reaches.flatMap(({ destination, ports }) =>
    (compiled.destinations[destination]?.shapes ?? []).map((shape) => {
      const deniers = deniersOf(compiled, shape)
      return { shape, ports, terms, whole: spell(shape, ports, terms), deniers }
    }),
  )
}

function deniersOf(compiled: CompiledPolicy, shape: Shape): Part['deniers'] {
  const covering = [...compiled.findDestinations(shape)].filter((destination) =>
    compiled.destinations[destination]?.shapes.some((outer) => covers(outer, shape)),
  )
  const rules = covering.flatMap((destination) => compiled.rulesTo[destination] ?? [])
  return rules.filter(({ rule }) => isAlwaysDenying(ruleAt(compiled, rule)))
}

function isAlwaysDenying({ action, rule }: CompiledRule): boolean {
  const { posture: _, ...conditions } = rule.when ?? {}
  return action === 'deny' && rule.expires_at === undefined && Object.keys(conditions).length === 0
}

function grantOf({ shape, ports, terms, whole, deniers }: Part, denying: ReadonlySet<number>): string | null {
  const denied = deniers.filter(({ rule }) => denying.has(rule))
  if (denied.length === 0) return whole
  const left = denied.reduce((rest, deny) => subtractPorts(rest, deny.ports), ports)
  return left.length > 0 ? spell(shape, left, terms) : null
}

const spell = (shape: Shape, ports: Ports, terms: string): string =>
  `${spellShape(shape)} ${formatPorts(ports).join(',')} ${terms}`

function spellShape(shape: Shape): string {
  if (shape.kind === 'range') return `${shape.range.lo}-${shape.range.hi}`
  if (shape.kind === 'everything') return '*'
  return `${shape.kind}:${shape.kind === 'dns' && shape.below ? '*.' : ''}${shape.name}`
}
