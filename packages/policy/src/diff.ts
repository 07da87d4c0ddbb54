import { createHash } from 'node:crypto'
import type { PolicyDocument, PolicyRule, PolicySubjects } from '@holdfast/contract/policy-document'
import { idOf } from './atoms.ts'
import { childrenOf, containersFirst } from './groups.ts'
import type { ResolvedPolicy } from './references.ts'

/** Rules by id, sorted. */
export type PolicyDiff = { rules_added: string[]; rules_removed: string[]; rules_changed: string[] }

/**
 * Compares two policies. A rule has changed if its own text changed, or something that it refers to: a resource, a
 * host, a group of the document, a posture check, or the directory object behind a name. Order, explicit defaults and
 * descriptions of other objects are ignored.
 */
export function diffPolicies(before: ResolvedPolicy | null, after: ResolvedPolicy): PolicyDiff {
  const old: ReadonlyMap<string, string> = before ? fingerprintsOf(before) : new Map()
  const now = fingerprintsOf(after)
  return {
    rules_added: [...now.keys()].filter((id) => !old.has(id)).sort(),
    rules_removed: [...old.keys()].filter((id) => !now.has(id)).sort(),
    rules_changed: [...now]
      .filter(([id, print]) => old.has(id) && old.get(id) !== print)
      .map(([id]) => id)
      .sort(),
  }
}

/** Serializes to JSON with sorted keys and sorted lists, because no list of a document has a meaningful order. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).sort().join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).filter(([, v]) => v !== undefined)
  return `{${entries
    .map(([key, v]) => `${JSON.stringify(key)}:${canonicalText(v)}`)
    .sort()
    .join(',')}}`
}

const printOf = (value: unknown): string => createHash('sha256').update(canonicalText(value)).digest('base64url')

/** Cached, because the published policy is what the next one is compared with. */
const known = new WeakMap<ResolvedPolicy, ReadonlyMap<string, string>>()
function fingerprintsOf(resolved: ResolvedPolicy): ReadonlyMap<string, string> {
  const prints = known.get(resolved) ?? makeFingerprints(resolved)
  known.set(resolved, prints)
  return prints
}

function makeFingerprints(resolved: ResolvedPolicy): ReadonlyMap<string, string> {
  const groups = groupPrints(resolved)
  const places = placePrints(resolved)
  const checks = new Map(
    Object.entries(resolved.document.posture_checks ?? {}).map(([id, check]) => [id, printOf(check)]),
  )
  const subjects = (named: PolicySubjects | undefined) => named && subjectsOf(resolved, groups, named)
  const contentOf = (rule: PolicyRule) => ({
    ...rule,
    from: subjects(rule.from),
    except: subjects(rule.except),
    to: rule.to.map((name) => [name, places.get(name) ?? '']),
    via: rule.via?.map((name) => idOf(resolved.pools, name)),
    checks: rule.when?.posture?.map((id) => [id, checks.get(id) ?? '']),
  })
  return new Map(resolved.document.rules.map((rule) => [rule.id, printOf(contentOf(rule))]))
}

const subjectsOf = (resolved: ResolvedPolicy, groups: ReadonlyMap<string, string>, named: PolicySubjects) => ({
  ...named,
  users: named.users?.map((name) => idOf(resolved.users, name)),
  groups: named.groups?.map((name) => groups.get(name) ?? idOf(resolved.groups, name)),
  devices: named.devices?.map((name) => idOf(resolved.devices, name)),
})

/** Fingerprints a group of the document by its members, so that its name does not matter. */
function groupPrints(resolved: ResolvedPolicy): Map<string, string> {
  const groups: NonNullable<PolicyDocument['groups']> = resolved.document.groups ?? {}
  const prints = new Map<string, string>()
  for (const name of containersFirst(groups).reverse()) {
    const own = new Set(childrenOf(groups, name))
    const others = (groups[name]?.groups ?? []).filter((group) => !own.has(group))
    const content = {
      users: groups[name]?.users?.map((user) => idOf(resolved.users, user)),
      groups: [
        ...others.map((group) => idOf(resolved.groups, group)),
        ...[...own].map((group) => prints.get(group) ?? ''),
      ],
    }
    prints.set(name, printOf(content))
  }
  return prints
}

function placePrints({ document, pools }: ResolvedPolicy): Map<string, string> {
  const resources = Object.entries(document.resources ?? {}).map(([name, resource]): [string, string] => {
    const { description: _, pool, ...content } = resource
    return [name, printOf({ ...content, pool: pool === undefined ? undefined : idOf(pools, pool) })]
  })
  return new Map([...resources, ...Object.entries(document.hosts ?? {})])
}
