import type { ResolvedPolicy } from '@holdfast/policy'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import { resolutionsInForce } from './policy.queries.ts'

type Names = ReadonlySet<string>

/**
 * Finds the parts of the delivered policies that name a group or a pool. It is called in the transaction that locks the
 * row of the group or pool. A publish locks it too, so one of them sees the other.
 */
export function createUses() {
  const using = async (
    tx: Tx,
    tenant: TenantId,
    kind: 'groups' | 'pools',
    id: string,
    parts: (resolved: ResolvedPolicy, names: Names) => string[],
  ): Promise<string[]> => {
    const inForce = (await resolutionsInForce(tx, tenant)) as ResolvedPolicy[]
    const found = inForce.flatMap((resolved) => {
      const named = Object.entries(resolved[kind])
      return parts(resolved, new Set(named.flatMap(([name, known]) => (known === id ? [name] : []))))
    })
    return [...new Set(found)]
  }
  return {
    rulesUsingGroup: (tx: Tx, tenant: TenantId, groupId: string) =>
      using(tx, tenant, 'groups', groupId, partsNamingGroup),
    rulesUsingPool: (tx: Tx, tenant: TenantId, poolId: string) =>
      using(tx, tenant, 'pools', encodeId('gateway_pool', poolId), partsNamingPool),
  }
}

function partsNamingGroup({ document }: ResolvedPolicy, names: Names): string[] {
  const { rules, groups = {} } = document
  const has = (list: readonly string[] | undefined) => list?.some((name) => names.has(name)) ?? false
  return [
    ...rules.filter((r) => has(r.from.groups) || has(r.except?.groups)).map((r) => r.id),
    ...Object.entries(groups).flatMap(([name, g]) => (has(g.groups) ? [`groups.${name}`] : [])),
  ]
}

function partsNamingPool({ document }: ResolvedPolicy, names: Names): string[] {
  const { rules, resources = {} } = document
  return [
    ...rules.filter((r) => r.via?.some((name) => names.has(name))).map((r) => r.id),
    ...Object.entries(resources).flatMap(([name, r]) =>
      r.pool !== undefined && names.has(r.pool) ? [`resources.${name}`] : [],
    ),
  ]
}
