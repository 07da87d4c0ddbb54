import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { PolicyStore } from './store.ts'
import type { Version } from './tenant-policy.ts'

type Names = ReadonlySet<string>

/** Which parts of the policies that are delivered name a group or a pool. */
export function createUses(store: Pick<PolicyStore, 'at'>) {
  const using = async (
    tenant: TenantId,
    kind: 'groups' | 'pools',
    id: string,
    parts: (version: Version, names: Names) => string[],
  ): Promise<string[]> => {
    const policy = await store.at(tenant)
    const found = [policy.versionOn('stable'), policy.versionOn('canary')].flatMap((version) => {
      const named = Object.entries(version.compiled.resolved[kind])
      return parts(version, new Set(named.flatMap(([name, known]) => (known === id ? [name] : []))))
    })
    return [...new Set(found)]
  }
  return {
    rulesUsingGroup: (tenant: TenantId, groupId: string) => using(tenant, 'groups', groupId, partsNamingGroup),
    rulesUsingPool: (tenant: TenantId, poolId: string) =>
      using(tenant, 'pools', encodeId('gateway_pool', poolId), partsNamingPool),
  }
}

function partsNamingGroup({ compiled }: Version, names: Names): string[] {
  const { rules, groups = {} } = compiled.resolved.document
  const has = (list: readonly string[] | undefined) => list?.some((name) => names.has(name)) ?? false
  return [
    ...rules.filter((r) => has(r.from.groups) || has(r.except?.groups)).map((r) => r.id),
    ...Object.entries(groups).flatMap(([name, g]) => (has(g.groups) ? [`groups.${name}`] : [])),
  ]
}

function partsNamingPool({ compiled }: Version, names: Names): string[] {
  const { rules, resources = {} } = compiled.resolved.document
  return [
    ...rules.filter((r) => r.via?.some((name) => names.has(name))).map((r) => r.id),
    ...Object.entries(resources).flatMap(([name, r]) =>
      r.pool !== undefined && names.has(r.pool) ? [`resources.${name}`] : [],
    ),
  ]
}
