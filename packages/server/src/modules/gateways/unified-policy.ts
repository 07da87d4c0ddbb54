import type { Output } from '@holdfast/contract'
import type { unifiedPolicy } from '@holdfast/contract/gateways'
import { signJws } from '@holdfast/crypto'
import { Answer } from '../../http/answer.ts'
import type { Actor, Principal, TenantId } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { encodeId } from '../../kernel/ids.ts'
import { createByteCache } from './byte-cache.ts'
import { concerns, type Deltas, type Touched } from './delta.ts'
import type { GatewaysDeps } from './deps.ts'
import type { GatewayRow } from './gateways.queries.ts'
import type { createPeers } from './peers.ts'
import type { Registry } from './registry.ts'
import type { Waiters } from './waiters.ts'

type View = Output<typeof unifiedPolicy>
type GatewayActor = Actor<Extract<Principal, { kind: 'gateway' }>>

const lifetimeMs = 15 * 60_000
const pollSeconds = 15
/** Signed bytes are given out again for this long, so their end is always more than 14 minutes away. */
const reuseMs = 30_000
const budgetBytes = 128 * 1024 * 1024

/**
 * What a gateway must enforce: a signed snapshot, or what changed since a sequence number. The bytes are made once for
 * all gateways of a pool that ask for the same span: the payload names its tenant, its pool and the gateways it is
 * for, and a gateway refuses one that does not name it.
 */
export function createUnifiedPolicy({
  feed,
  trust,
  now,
  registry,
  deltas,
  peers,
  waiters,
}: Pick<GatewaysDeps, 'feed' | 'trust' | 'now'> & {
  registry: Registry
  deltas: Deltas
  peers: ReturnType<typeof createPeers>
  waiters: Waiters
}) {
  const held = createByteCache<{ bytes: Buffer }>({ maxBytes: budgetBytes, maxAgeMs: reuseMs })
  const making = new Map<string, Promise<{ bytes: Buffer }>>()

  /** The sequence number up to which this replica has applied everything. Throws while the database is away. */
  async function currentSeq(tenant: TenantId, atLeast: number): Promise<number> {
    if (!feed.isFresh() || feed.seqOf(tenant) < atLeast) await feed.catchUp()
    return feed.seqOf(tenant)
  }

  async function gatewayOf({ tenantId, principal }: GatewayActor): Promise<GatewayRow> {
    const { gateways } = await registry.of(tenantId)
    return gateways.get(principal.id) ?? fail('unauthorized', 'missing or invalid credentials')
  }

  async function contentOf(tenant: TenantId, poolId: string, touched: Touched | undefined) {
    const pool = (await registry.of(tenant)).pools.get(poolId)
    if (!touched) {
      const open = pool?.enabled ? await peers.all(tenant, poolId) : { peers: [], variants: {} }
      const sessions = await deltas.recentlyCut(tenant, poolId)
      return { revocations: { devices: [], sessions }, ...open, removed_peers: [] }
    }
    const { revoked, ...rest } = await peers.touched(tenant, poolId, touched)
    const closed = {
      peers: [],
      variants: {},
      removed_peers: [...rest.peers.map((p) => p.device_id), ...rest.removed_peers],
    }
    return {
      revocations: { devices: revoked, sessions: touched.sessions.get(poolId) ?? [] },
      ...(pool?.enabled ? rest : closed),
    }
  }

  async function make(
    tenant: TenantId,
    poolId: string,
    since: number | undefined,
    seq: number,
    touched: Touched | undefined,
  ) {
    const kind = touched ? 'delta' : 'snapshot'
    const baseSeq = touched && since !== undefined ? since : null
    const at = now()
    const { revocations, variants, peers, removed_peers } = await contentOf(tenant, poolId, touched)
    const { gatewaysOf } = await registry.of(tenant)
    const payload = {
      schema: 'holdfast.gateway-policy/1',
      kind,
      tenant_id: encodeId('tenant', tenant),
      pool_id: encodeId('gateway_pool', poolId),
      gateway_ids: gatewaysOf(poolId).map((g) => encodeId('gateway', g.gateway_id)),
      seq,
      base_seq: baseSeq,
      generated_at: at.toISOString(),
      expires_at: new Date(at.getTime() + lifetimeMs).toISOString(),
      revocations,
      variants,
      peers,
      removed_peers,
      trust_anchor_version: await trust.versionOf(tenant),
      fail_mode: 'closed',
    }
    const policy = await signJws(await trust.signerFor(tenant, 'gateway-policy'), 'gateway-policy+jws', payload)
    const view: View = { kind, seq, base_seq: baseSeq, policy, poll_seconds: pollSeconds }
    return { bytes: Buffer.from(JSON.stringify(view)) }
  }

  async function answer(
    tenant: TenantId,
    poolId: string,
    since: number | undefined,
    seq: number,
    touched: Touched | undefined,
  ): Promise<Answer<View>> {
    const { revision } = await registry.of(tenant)
    const key = `${tenant}|${poolId}|${touched ? since : 'all'}|${seq}|${revision}`
    const known = held.get(key)
    if (known) return new Answer<View>(known.bytes)
    let running = making.get(key)
    if (!running) {
      running = make(tenant, poolId, since, seq, touched).finally(() => making.delete(key))
      making.set(key, running)
    }
    const made = await running
    held.set(key, made)
    return new Answer<View>(made.bytes)
  }

  return {
    /**
     * `since`: the sequence number that the gateway has. With `waitMs` the request is held until something concerns
     * the gateway; at its end an empty delta gives the gateway a new `expires_at`.
     */
    answer: async (
      actor: GatewayActor,
      since: number | undefined,
      waitMs: number,
      signalOf: () => AbortSignal,
    ): Promise<Answer<View>> => {
      const tenant = actor.tenantId
      const deadline = performance.now() + waitMs
      const ticket = since !== undefined && waitMs > 0 ? waiters.enter(tenant, actor.principal.id) : undefined
      const signal = ticket && signalOf()
      try {
        for (;;) {
          const seq = await currentSeq(tenant, Math.max(since ?? 0, waiters.newestOf(tenant)))
          const gateway = await gatewayOf(actor)
          let touched = since !== undefined && since <= seq ? await deltas.between(tenant, since, seq) : undefined
          // What a change of the pool itself means for its peers only a snapshot says.
          if (touched?.pools.has(gateway.pool_id)) touched = undefined
          const left = deadline - performance.now()
          const waits = ticket && signal && left > 0 && touched && !concerns(touched, gateway.pool_id)
          if (!waits) return await answer(tenant, gateway.pool_id, since, seq, touched)
          const outcome = await ticket.next(left, signal)
          if (outcome === 'gone' || outcome === 'stopped')
            return await answer(tenant, gateway.pool_id, since, seq, touched)
        }
      } finally {
        ticket?.leave()
      }
    },
  }
}
