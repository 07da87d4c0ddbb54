import type { PolicyConditions, PolicyResource, PolicySettings } from '@holdfast/contract/policy-document'
import { idOf } from './atoms.ts'
import { byText, type CompiledPolicy, type CompiledRule } from './compile.ts'
import { networkOf } from './network.ts'
import { formatPorts, portsOf } from './ports.ts'
import { ruleAt, type Selection } from './select.ts'

/**
 * A rule as a device gets it, without its subjects. Posture is already applied; the other conditions remain to be
 * enforced.
 */
type VariantRule = {
  readonly id: string
  readonly action: 'allow' | 'deny'
  /** Keys of `resources`, networks, or `*`. */
  readonly to: readonly string[]
  readonly ports?: readonly string[]
  readonly when?: Omit<PolicyConditions, 'posture'>
  /** pool_id */
  readonly via?: readonly string[]
  readonly expires_at?: string
  readonly log?: true
}

type VariantResource = {
  readonly cidrs?: readonly string[]
  readonly dns?: readonly string[]
  readonly services?: readonly string[]
  readonly ports?: readonly string[]
  /** pool_id */
  readonly pool?: string
}

/**
 * The signed content for a device, without the publisher's fields: tenant, version and times. Equal selections give
 * equal JSON. Variants share their parts, so these must not be modified.
 */
export type VariantContent = {
  readonly schema: 'holdfast.policy/1'
  readonly rules: readonly VariantRule[]
  readonly resources: Readonly<Record<string, VariantResource>>
  readonly settings: PolicySettings
  /** pool_id */
  readonly gateway_pools: readonly string[]
  readonly posture_checks: readonly { readonly id: string; readonly remediation: string }[]
}

/**
 * The variant that a set of devices shares. There is one object for each content, so that callers can attach derived
 * data to it.
 */
export type Variant = {
  readonly digest: string
  readonly channel: 'canary' | 'stable'
  readonly version: number
  /** The tenant's sequence number of the version's publication. */
  readonly seq: number
  readonly content: VariantContent
}

/** Returns the content of a variant: the rules that concern the device, and only the objects that they name. */
export function variantContent(compiled: CompiledPolicy, selection: Selection): VariantContent {
  const rendered = renderedOf(compiled)
  const rules = selection.rules.map((index) => rendered.rule(ruleAt(compiled, index)))
  const names = [...new Set(rules.flatMap((rule) => rule.to))].sort()
  const resources = names.flatMap((name): [string, VariantResource][] => {
    const resource = rendered.resource(name)
    return resource ? [[name, resource]] : []
  })
  const pools = [...rules.flatMap((rule) => rule.via ?? []), ...resources.flatMap(([, { pool }]) => pool ?? [])]
  return {
    schema: 'holdfast.policy/1',
    rules,
    resources: Object.fromEntries(resources),
    settings: compiled.resolved.document.settings ?? {},
    gateway_pools: [...new Set(pools)].sort(),
    posture_checks: selection.checks.flatMap((index) => {
      const check = compiled.checks[index]
      return check && check.enforcement !== 'audit' ? [{ id: check.id, remediation: check.remediation }] : []
    }),
  }
}

type Rendered = { rule: (rule: CompiledRule) => VariantRule; resource: (name: string) => VariantResource | null }

const renderings = new WeakMap<CompiledPolicy, Rendered>()

/** Cached, because hundreds of variants share the same rules and resources. */
function renderedOf(compiled: CompiledPolicy): Rendered {
  const known = renderings.get(compiled)
  if (known) return known
  const rules = new Map<CompiledRule, VariantRule>()
  const resources = new Map<string, VariantResource | null>()
  const rendered: Rendered = {
    rule: (rule) => remember(rules, rule, () => ruleOf(compiled, rule)),
    resource: (name) => remember(resources, name, () => resourceCalled(compiled, name)),
  }
  renderings.set(compiled, rendered)
  return rendered
}

function remember<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = make()
  map.set(key, value)
  return value
}

const namesOf = (compiled: CompiledPolicy, { reaches }: CompiledRule): string[] =>
  reaches.flatMap(({ destination }) => compiled.destinations[destination]?.name ?? []).sort()

function ruleOf(compiled: CompiledPolicy, compiledRule: CompiledRule): VariantRule {
  const { rule, via } = compiledRule
  const when = conditionsOf(rule.when)
  return {
    id: rule.id,
    action: rule.action,
    to: namesOf(compiled, compiledRule),
    ...(rule.ports && { ports: formatPorts(portsOf(rule.ports)) }),
    ...(when && { when }),
    ...(via.length > 0 && { via }),
    ...(rule.expires_at !== undefined && { expires_at: new Date(rule.expires_at).toISOString() }),
    ...(rule.log && { log: true }),
  }
}

function conditionsOf(when: PolicyConditions | undefined): VariantRule['when'] | null {
  const { time, countries, cidrs, mfa_within_seconds } = when ?? {}
  const conditions = {
    ...(time && {
      time: time
        .map(({ days, ...window }) => ({ ...window, ...(days && { days: [...days].sort() }) }))
        .sort(byText(spellingOf)),
    }),
    ...(countries && { countries: [...countries].sort() }),
    ...(cidrs && { cidrs: canonicalCidrs(cidrs) }),
    ...(mfa_within_seconds !== undefined && { mfa_within_seconds }),
  }
  return Object.keys(conditions).length > 0 ? conditions : null
}

const spellingOf = (window: { from: string; to: string; zone: string; days?: readonly string[] }): string =>
  [window.zone, window.from, window.to, ...(window.days ?? [])].join(' ')

const canonicalCidrs = (cidrs: readonly string[]): string[] =>
  [...new Set(cidrs.map((cidr) => networkOf(cidr).cidr))].sort()

/** Null for a network and for `*`, which are written in the rule itself. */
function resourceCalled(compiled: CompiledPolicy, name: string): VariantResource | null {
  const { resources = {}, hosts = {} } = compiled.resolved.document
  const resource = Object.hasOwn(resources, name) ? resources[name] : undefined
  if (resource) return resourceOf(compiled, resource)
  const host = Object.hasOwn(hosts, name) ? hosts[name] : undefined
  return host === undefined ? null : { cidrs: canonicalCidrs([host]) }
}

const resourceOf = (
  compiled: CompiledPolicy,
  { cidrs, dns, services, ports, pool }: PolicyResource,
): VariantResource => ({
  ...(cidrs && { cidrs: canonicalCidrs(cidrs) }),
  ...(dns && { dns: [...new Set(dns.map((name) => name.toLowerCase()))].sort() }),
  ...(services && { services: [...services].sort() }),
  ...(ports && { ports: formatPorts(portsOf(ports)) }),
  ...(pool !== undefined && { pool: idOf(compiled.resolved.pools, pool) }),
})
