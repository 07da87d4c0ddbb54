import type { Tx } from '../../../db/database.ts'
import type { PageQuery } from '../../../db/page.ts'
import { mapUniqueViolation } from '../../../db/unique-violation.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { canonicalAddress } from '../../../kernel/cidr.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { PoolFields, PoolRow } from './pools.queries.ts'
import * as queries from './pools.queries.ts'

/** Fields of a new pool. Absent ones get defaults. */
type PoolInput = { [K in keyof PoolFields]?: PoolFields[K] } & Pick<PoolFields, 'name' | 'region'>
export type Pool = PoolRow & { gateways: number }

const defaults = {
  protocol: 'wireguard',
  selection: 'latency',
  enabled: true,
  capacity: null,
  health_threshold: 1,
  nat: 'masquerade',
  mtu: 1420,
  dns: [],
  fail_mode: 'closed',
  lifetime_seconds: 900,
  requires_approval: false,
} satisfies Partial<PoolFields>

const noPool = () => missing('gateway_pool')
/** Error detail for a name of another pool. */
const nameTaken = 'another gateway pool already has this name'
const targetOf = (pool: PoolRow) => ({
  type: 'gateway_pool',
  id: encodeId('gateway_pool', pool.pool_id),
  name: pool.name,
})

export function createPools({
  db,
  audit,
  changes,
  pager,
  policy,
  now,
}: Pick<GatewaysDeps, 'db' | 'audit' | 'changes' | 'pager' | 'policy' | 'now'>) {
  const withGateways = async (tx: Tx, tenant: TenantId, rows: PoolRow[]): Promise<Pool[]> => {
    const counts = await queries.countGateways(
      tx,
      tenant,
      rows.map((r) => r.pool_id),
    )
    return rows.map((r) => ({ ...r, gateways: counts.get(r.pool_id) ?? 0 }))
  }

  return {
    list: (tenant: TenantId, query: PageQuery & { q?: string }) =>
      db.inTenant(tenant, async (tx) => {
        const found = await pager.list(queries.findPools(tx, tenant, query.q), {
          operation: 'listGatewayPools',
          tenant,
          query,
          orders: { name: { column: 'name', kind: 'text' }, created_at: { column: 'created_at', kind: 'time' } },
          tie: 'pool_id',
        })
        return { items: await withGateways(tx, tenant, found.items), next_cursor: found.next_cursor }
      }),

    get: (tenant: TenantId, poolId: string): Promise<Pool> =>
      db.inTenant(tenant, async (tx) => {
        const row = (await queries.findPool(tx, tenant, poolId)) ?? noPool()
        const [pool] = await withGateways(tx, tenant, [row])
        return pool ?? noPool()
      }),

    create: async (actor: Actor, input: PoolInput): Promise<Pool> => {
      const fields = spelled({ ...defaults, ...input })
      const tenant = actor.tenantId
      return db.inTenant(tenant, async (tx) => {
        const row = (await queries.insertPool(tx, tenant, newUuid(), fields, now())) ?? failField('name', nameTaken)
        await audit.record(
          tx,
          actor,
          'gateway_pool.created',
          { pool_id: encodeId('gateway_pool', row.pool_id) },
          { target: targetOf(row) },
        )
        await changes.record(tx, tenant, [{ kind: 'pool', subject: row.pool_id }])
        return { ...row, gateways: 0 }
      })
    },

    /**
     * `allow` throws for a row that it refuses, under the row's lock. A request that changes nothing writes nothing.
     */
    replace: async (
      actor: Actor,
      poolId: string,
      poolFields: PoolFields,
      allow: (before: PoolRow) => void,
    ): Promise<Pool> => {
      const fields = spelled(poolFields)
      const tenant = actor.tenantId
      const update = () =>
        db.inTenant(tenant, async (tx) => {
          const before = (await queries.lockPool(tx, tenant, poolId)) ?? noPool()
          allow(before)
          const changed = differences(before, fields)
          let row = before
          if (Object.keys(changed).length > 0) {
            row = await queries.updatePool(tx, tenant, poolId, fields, now())
            await audit.record(
              tx,
              actor,
              'gateway_pool.updated',
              { pool_id: encodeId('gateway_pool', poolId) },
              { target: targetOf(row), changes: changed },
            )
          }
          const [pool] = await withGateways(tx, tenant, [row])
          if (row !== before) await changes.record(tx, tenant, [{ kind: 'pool', subject: poolId }])
          return pool ?? noPool()
        })
      return mapUniqueViolation('name', 'pool_name_is_unique_in_its_tenant', update, nameTaken)
    },

    /** Refused while the pool has gateways or the policy names it. False if it was deleted before. */
    remove: (actor: Actor, poolId: string, expected: ExpectedVersion): Promise<boolean> => {
      const tenant = actor.tenantId
      return db.inTenant(tenant, async (tx) => {
        const pool = await queries.lockPool(tx, tenant, poolId)
        if (!pool) {
          if (!(await queries.wasPoolDeleted(tx, tenant, poolId))) return noPool()
          expected.require(undefined)
          return false
        }
        expected.require(pool)
        const gateways = (await queries.countGateways(tx, tenant, [poolId])).get(poolId) ?? 0
        const rules = await policy.rulesUsingPool(tx, tenant, poolId)
        if (gateways > 0) fail('validation_error', `the pool has ${gateways} gateways: delete them first`)
        if (rules.length > 0)
          fail(
            'validation_error',
            `the policy uses this pool (${rules.slice(0, 5).join(', ')}): change the policy first`,
          )
        await queries.deletePool(tx, tenant, poolId, now())
        await audit.record(
          tx,
          actor,
          'gateway_pool.deleted',
          { pool_id: encodeId('gateway_pool', poolId) },
          { target: targetOf(pool) },
        )
        await changes.record(tx, tenant, [{ kind: 'pool', subject: poolId }])
        return true
      })
    },
  }
}
export type Pools = ReturnType<typeof createPools>

/** Returns addresses in canonical form without duplicates. An invalid one is a 422 that names its position. */
const spelled = (f: PoolFields): PoolFields => ({
  ...f,
  dns: [...new Set(f.dns.map((text, i) => canonicalAddress(text) ?? failField(`dns[${i}]`, 'must be an IP address')))],
})
