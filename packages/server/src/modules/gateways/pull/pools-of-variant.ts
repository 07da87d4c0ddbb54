import type { VariantContent } from '../../policy/index.ts'

const known = new WeakMap<VariantContent, ReadonlySet<string> | 'every'>()

/**
 * The pools (TypeIDs) through which a variant lets its devices connect: those its allow rules name, or else the pools
 * of what they lead to. A rule that names none leads through every enabled pool.
 */
export function poolsOf(content: VariantContent): ReadonlySet<string> | 'every' {
  const before = known.get(content)
  if (before) return before
  const pools = readPools(content)
  known.set(content, pools)
  return pools
}

export const mayUse = (content: VariantContent, poolId: string): boolean => {
  const pools = poolsOf(content)
  return pools === 'every' || pools.has(poolId)
}

function readPools({ rules, resources }: VariantContent): ReadonlySet<string> | 'every' {
  const pools = new Set<string>()
  for (const { action, via, to } of rules) {
    if (action !== 'allow') continue
    for (const pool of via ?? to.map((name) => (Object.hasOwn(resources, name) ? resources[name]?.pool : undefined))) {
      if (pool === undefined) return 'every'
      pools.add(pool)
    }
  }
  return pools
}
