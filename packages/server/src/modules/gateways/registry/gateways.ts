import type { Tx } from '../../../db/database.ts'
import { findNames } from '../../../db/names.ts'
import type { PageQuery } from '../../../db/page.ts'
import { mapUniqueViolation } from '../../../db/unique-violation.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { GatewaysDeps } from '../deps.ts'
import { endSessionsOfGateway } from '../reports/sessions.queries.ts'
import { createGatewayList } from './gateway-list.ts'
import type { GatewayFields, GatewayRow } from './gateways.queries.ts'
import * as queries from './gateways.queries.ts'
import { findPool, lockPool } from './pools.queries.ts'
import type { GatewaySecrets } from './secrets.ts'
import { holdKey, keyTaken, requireOwnKey } from './tunnel-keys.ts'

/** Fields of a new gateway. Absent ones get defaults. */
type GatewayInput = { [K in keyof GatewayFields]?: GatewayFields[K] } & Pick<GatewayFields, 'name'>
type ActivityRow = Awaited<ReturnType<typeof queries.activityOfGateways>>[number]
export type Gateway = { row: GatewayRow; activity: ActivityRow | undefined; poolName: string }

const noGateway = () => missing('gateway')
/** Error detail for a name of another gateway. */
const nameTaken = 'another gateway already has this name'
const refuseTakenFields = <T>(work: () => Promise<T>): Promise<T> =>
  mapUniqueViolation(
    'public_key',
    'gateway_key_is_used_by_one_gateway',
    () => mapUniqueViolation('name', 'gateway_name_is_unique_in_its_tenant', work, nameTaken),
    keyTaken,
  )
const defaults: Omit<GatewayFields, 'name'> = { endpoints: [], public_key: null, weight: 100 }
const namedBy = (g: GatewayRow) => ({ gateway_id: encodeId('gateway', g.gateway_id) })
const targetOf = (g: GatewayRow) => ({ type: 'gateway', id: encodeId('gateway', g.gateway_id), name: g.name })

type Deps = Pick<GatewaysDeps, 'db' | 'audit' | 'changes' | 'pager' | 'now' | 'entitlements'> & {
  secrets: GatewaySecrets
}

export function createGatewayRules(deps: Deps & Parameters<typeof createGatewayList>[0]) {
  const { db, audit, changes, pager, now, entitlements, secrets } = deps
  const withActivity = async (tx: Tx, tenant: TenantId, rows: GatewayRow[]): Promise<Gateway[]> => {
    const ids = rows.map((r) => r.gateway_id)
    const activity = new Map((await queries.activityOfGateways(tx, tenant, ids)).map((a) => [a.gateway_id, a]))
    const names = await findNames(tx, tenant, { gateway_pool: rows.map((r) => r.pool_id) })
    return rows.map((row) => ({
      row,
      activity: activity.get(row.gateway_id),
      poolName: names.of('gateway_pool', row.pool_id) ?? '',
    }))
  }
  const one = async (tx: Tx, tenant: TenantId, row: GatewayRow): Promise<Gateway> => {
    const [gateway] = await withActivity(tx, tenant, [row])
    return gateway ?? noGateway()
  }
  const touched = (tx: Tx, { tenantId }: Actor, { gateway_id }: GatewayRow) =>
    changes.record(tx, tenantId, [{ kind: 'gateway', subject: gateway_id }])

  return {
    list: (tenant: TenantId, poolId: string, query: PageQuery) =>
      db.inTenant(tenant, async (tx) => {
        if (!(await findPool(tx, tenant, poolId))) missing('gateway_pool')
        const found = await pager.list(queries.selectGateways(tx, tenant, poolId), {
          operation: `listGateways|${poolId}`,
          tenant,
          query,
          orders: { name: { column: 'name', kind: 'text' }, created_at: { column: 'created_at', kind: 'time' } },
          tie: 'gateway_id',
        })
        return { items: await withActivity(tx, tenant, found.items), next_cursor: found.next_cursor }
      }),

    listAll: createGatewayList(deps),

    get: (tenant: TenantId, gatewayId: string): Promise<Gateway> =>
      db.inTenant(tenant, async (tx) => {
        const row = await queries.findGateway(tx, tenant, gatewayId)
        return row && row.deleted_at === null ? one(tx, tenant, row) : noGateway()
      }),

    create: async (
      actor: Actor,
      poolId: string,
      input: GatewayInput,
    ): Promise<{ gateway: Gateway; secret: string }> => {
      const tenant = actor.tenantId
      const f = { ...defaults, ...input }
      const secret = secrets.mint(tenant)
      const gatewayId = newUuid()
      const write = () =>
        db.inTenant(tenant, async (tx) => {
          const places = await entitlements.hold(tx, tenant, 'gateways', actor)
          await holdKey(tx, tenant, f.public_key)
          if (f.public_key !== null) await requireOwnKey(tx, tenant, { gatewayId, key: f.public_key, at: now() })
          const pool = (await lockPool(tx, tenant, poolId)) ?? missing('gateway_pool')
          const row = await queries.insertGateway(tx, places.take(1), tenant, { gatewayId, poolId }, f, now())
          await secrets.store(tx, tenant, row.gateway_id, secret)
          const fields = { ...namedBy(row), pool_id: encodeId('gateway_pool', poolId) }
          await audit.record(tx, actor, 'gateway.created', fields, { target: targetOf(row) })
          await touched(tx, actor, row)
          return { row, activity: undefined, poolName: pool.name }
        })
      return { gateway: await refuseTakenFields(write), secret: secret.token }
    },

    /**
     * `allow` throws for a row that it refuses, under the row's lock. A request that changes nothing writes nothing.
     */
    replace: (
      actor: Actor,
      gatewayId: string,
      next: GatewayFields,
      allow: (before: GatewayRow) => void,
    ): Promise<Gateway> =>
      refuseTakenFields(() =>
        db.inTenant(actor.tenantId, async (tx) => {
          const key = next.public_key
          await holdKey(tx, actor.tenantId, key)
          const before = (await queries.lockGateway(tx, actor.tenantId, gatewayId)) ?? noGateway()
          allow(before)
          const changed = differences(before, next)
          if (Object.keys(changed).length === 0) return one(tx, actor.tenantId, before)
          if (key !== null && 'public_key' in changed)
            await requireOwnKey(tx, actor.tenantId, { gatewayId, key, at: now() })
          const row = await queries.updateGateway(tx, actor.tenantId, gatewayId, next, now())
          await audit.record(tx, actor, 'gateway.updated', namedBy(row), { target: targetOf(row), changes: changed })
          const gateway = await one(tx, actor.tenantId, row)
          await touched(tx, actor, row)
          return gateway
        }),
      ),

    /** Deletes the gateway, ends its sessions and invalidates its secrets. False if it was deleted before. */
    remove: (actor: Actor, gatewayId: string, expected: ExpectedVersion): Promise<boolean> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const at = now()
        const before = await queries.lockGateway(tx, actor.tenantId, gatewayId)
        if (before || (await queries.findGateway(tx, actor.tenantId, gatewayId))) expected.require(before)
        const row = await queries.markGatewayDeleted(tx, actor.tenantId, gatewayId, at)
        if (!row) {
          if (await queries.findGateway(tx, actor.tenantId, gatewayId)) return false
          return noGateway()
        }
        await secrets.endAll(tx, actor.tenantId, gatewayId)
        const ended = await endSessionsOfGateway(tx, actor.tenantId, gatewayId, 'gateway_down', at)
        await audit.record(tx, actor, 'gateway.deleted', namedBy(row), {
          target: targetOf(row),
          details: { sessions_ended: ended.length },
        })
        await touched(tx, actor, row)
        return true
      }),

    rotateSecret: async (
      actor: Actor,
      gatewayId: string,
    ): Promise<{ gateway: Gateway; secret: string; oldValidUntil: Date }> => {
      const secret = secrets.mint(actor.tenantId)
      const rotated = await db.inTenant(actor.tenantId, async (tx) => {
        const row = (await queries.lockGateway(tx, actor.tenantId, gatewayId)) ?? noGateway()
        const oldValidUntil = await secrets.replace(tx, actor.tenantId, gatewayId, secret)
        await audit.record(tx, actor, 'gateway.secret_rotated', namedBy(row), { target: targetOf(row) })
        const gateway = await one(tx, actor.tenantId, row)
        await touched(tx, actor, row)
        return { gateway, oldValidUntil }
      })
      return { ...rotated, secret: secret.token }
    },

    drain: (
      actor: Actor,
      gatewayId: string,
      { draining, reason }: { draining: boolean; reason?: string },
      expected: ExpectedVersion,
    ) =>
      db.inTenant(actor.tenantId, async (tx) => {
        expected.require((await queries.lockGateway(tx, actor.tenantId, gatewayId)) ?? noGateway())
        const storedReason = draining ? (reason ?? null) : null
        const moved = await queries.setDraining(tx, actor.tenantId, gatewayId, draining, storedReason, now())
        if (!moved) {
          const row = (await queries.findGateway(tx, actor.tenantId, gatewayId)) ?? noGateway()
          return { gateway: await one(tx, actor.tenantId, row), changed: false }
        }
        await audit.record(
          tx,
          actor,
          'gateway.drained',
          { ...namedBy(moved), draining },
          {
            target: targetOf(moved),
            ...(reason !== undefined && { details: { reason } }),
          },
        )
        const gateway = await one(tx, actor.tenantId, moved)
        await touched(tx, actor, moved)
        return { gateway, changed: true }
      }),
  }
}
export type GatewayRules = ReturnType<typeof createGatewayRules>
