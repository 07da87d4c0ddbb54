import type { VariantContent } from './variant.ts'

/** End of access (ms) by pool: through every enabled pool (`every`), and through the named ones. */
type Ends = { every: number; named: ReadonlyMap<string, number> }

const never = Number.NEGATIVE_INFINITY
const known = new WeakMap<VariantContent, Ends>()

function endsOf(content: VariantContent): Ends {
  const before = known.get(content)
  if (before) return before
  const ends = readEnds(content)
  known.set(content, ends)
  return ends
}

/**
 * Returns the pools (TypeIDs) through which a variant lets its devices connect: those named in its allow rules,
 * otherwise those of the rules' destinations. A rule without a pool leads through every enabled pool, an expired one
 * through none.
 */
export function poolsOf(content: VariantContent, at: number): ReadonlySet<string> | 'every' {
  const { every, named } = endsOf(content)
  if (at < every) return 'every'
  return new Set([...named].flatMap(([pool, end]) => (at < end ? [pool] : [])))
}

/** Returns until when a variant leads through a pool, in milliseconds since the epoch. -Infinity: never. */
export function endOn(content: VariantContent, poolId: string): number {
  const { every, named } = endsOf(content)
  return Math.max(every, named.get(poolId) ?? never)
}

function readEnds({ rules, resources }: VariantContent): Ends {
  let every = never
  const named = new Map<string, number>()
  for (const { action, via, to, expires_at } of rules) {
    if (action !== 'allow') continue
    const end = expires_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires_at)
    for (const pool of via ?? to.map((name) => (Object.hasOwn(resources, name) ? resources[name]?.pool : undefined)))
      if (pool === undefined) every = Math.max(every, end)
      else named.set(pool, Math.max(named.get(pool) ?? never, end))
  }
  return { every, named }
}
