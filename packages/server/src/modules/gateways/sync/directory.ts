import type { Output } from '@holdfast/contract'
import type { gatewayPools } from '@holdfast/contract/gateway-runtime'
import { sha256Hex, signJws } from '@holdfast/crypto'
import { poolsOf, type Variant } from '@holdfast/policy'
import type { TenantId } from '../../../kernel/actor.ts'
import { unauthorized } from '../../../kernel/app-error.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { Representation } from '../../../kernel/results.ts'
import { hour, second } from '../../../kernel/time.ts'
import type { CallingDevice } from '../../devices/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { GatewayRegistry, Registry } from '../registry/registry.ts'
import type { Activity } from '../reports/activity.ts'
import type { Liveness } from '../reports/liveness.ts'
import { offeredOf, viewPool } from './directory-view.ts'

type View = Output<typeof gatewayPools>
type Made = {
  directory: GatewayRegistry
  revision: number
  madeAtMs: number
  seq: number
  tag: string
  representation: Representation<View>
}

const ttlSeconds = 60
/** Reuse time: the passing of time alone can turn healthy into degraded. */
const remakeMs = 1000
/** A directory expires at the end of the next half day, after 12 to 24 hours, at the same time on every replica. */
const halfDay = 12 * hour

/**
 * The gateways that a device may use and the networks behind them: one directory for all devices with the same variant.
 * It is signed again if its content, the tenant's sequence number or its expiry changes. Its tag contains content and
 * expiry, so a device that has it gets no new copy.
 */
export function createDeviceDirectory({
  fleet,
  policy,
  feed,
  trust,
  now,
  registry,
  activity,
}: Pick<GatewaysDeps, 'fleet' | 'policy' | 'feed' | 'trust' | 'now'> & { registry: Registry; activity: Activity }) {
  const made = new BoundedMap<string, Made>(2000)
  const making = new Map<string, Promise<Made>>()

  function poolsThrough({ content }: Variant, directory: GatewayRegistry, atMs: number) {
    const pools = poolsOf(content, atMs)
    return [...directory.pools.values()]
      .map((pool) => ({ pool, poolId: encodeId('gateway_pool', pool.pool_id) }))
      .filter(({ pool, poolId }) => pool.enabled && (pools === 'every' || pools.has(poolId)))
  }

  /** Inputs of a directory. */
  type Given = { seq: number; directory: GatewayRegistry; byGateway: ReadonlyMap<string, Liveness>; revision: number }

  async function directoryState(tenant: TenantId): Promise<Given> {
    // Read first, so that the content is at least as new as its number.
    const seq = feed.seqOf(tenant)
    const directory = await registry.of(tenant)
    return { seq, directory, ...(await activity.of(tenant)) }
  }

  async function make(tenant: TenantId, key: string, variant: Variant | undefined, from: Given): Promise<Made> {
    const { seq, directory, byGateway, revision } = from
    const before = made.get(key)
    const atMs = now().getTime()
    const pools = variant
      ? poolsThrough(variant, directory, atMs).map(({ pool, poolId }) =>
          viewPool({ pool, poolId, directory, byGateway, content: variant.content, atMs }),
        )
      : []
    const digest = `sha256:${sha256Hex(JSON.stringify(pools))}`
    const exp = (Math.floor(atMs / halfDay) + 2) * (halfDay / second)
    const tag = `${digest}.${exp.toString(36)}`
    if (before?.tag === tag && before.seq >= seq) {
      const same = { ...before, directory, revision, madeAtMs: atMs }
      made.set(key, same)
      return same
    }
    const signed = await signJws(await trust.signerFor(tenant, 'policy'), 'gateway-directory+jws', {
      schema: 'holdfast.gateway-directory/1',
      tenant_id: encodeId('tenant', tenant),
      seq,
      iat: Math.floor(atMs / second),
      exp,
      pools,
    })
    const body: View = { directory: signed, digest, seq, ttl_seconds: ttlSeconds }
    const representation = new Representation<View>(tag, Buffer.from(JSON.stringify(body)))
    const next = { directory, revision, madeAtMs: atMs, seq, tag, representation }
    made.set(key, next)
    return next
  }

  return {
    /** Returns the enabled pools of a tenant, and whether a device would be offered a gateway of each now. */
    availability: async (tenant: TenantId) => {
      const { directory, byGateway } = await directoryState(tenant)
      const atMs = now().getTime()
      return [...directory.pools.values()]
        .filter((pool) => pool.enabled)
        .map((pool) => {
          const offered = offeredOf({ pool, directory, byGateway, atMs })
          // A gateway that never reported is offered so that a fleet can start. It is not up.
          const isUp = offered.some((gateway) => gateway.status !== 'never_seen')
          return { poolId: encodeId('gateway_pool', pool.pool_id), name: pool.name, isUp }
        })
    },

    read: async ({ tenantId: tenant, id }: CallingDevice): Promise<Representation<View>> => {
      const device = (await fleet.device(tenant, id)) ?? unauthorized()
      const current = await policy.at(tenant)
      const variant = device.usable ? current.variantOf(device, now().getTime()) : undefined
      const key = `${tenant}|${variant?.digest ?? ''}`
      const from = await directoryState(tenant)
      const before = made.get(key)
      const isFresh = before && Math.abs(now().getTime() - before.madeAtMs) < remakeMs
      if (isFresh && before.directory === from.directory && before.revision === from.revision && before.seq >= from.seq)
        return before.representation
      // Concurrent requests for the same content share the work.
      const run = [key, from.seq, from.directory.revision, from.revision].join('|')
      let running = making.get(run)
      if (!running) {
        running = make(tenant, key, variant, from).finally(() => making.delete(run))
        making.set(run, running)
      }
      return (await running).representation
    },
  }
}
export type DirectoryReads = ReturnType<typeof createDeviceDirectory>
