import type { Output } from '@holdfast/contract'
import type { unifiedPolicy, unifiedPolicyChunk } from '@holdfast/contract/gateway-runtime'
import { signJws } from '@holdfast/crypto'
import type { Hold } from '../../../http/answer/representation.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, unauthorized } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { Representation } from '../../../kernel/results.ts'
import { second } from '../../../kernel/time.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { GatewayRow } from '../registry/gateways.queries.ts'
import type { PoolRow } from '../registry/pools.queries.ts'
import type { Registry } from '../registry/registry.ts'
import { createByteCache } from './byte-cache.ts'
import { concerns, type Deltas, type Touched } from './delta.ts'
import { closedBy, gatewayPart, poolPart } from './own-part.ts'
import type { Peers } from './peers.ts'
import { nextEnd, type PoolView, timedAfter } from './pool-view.ts'
import type { Snapshots } from './snapshots.ts'
import { createPoliciesAtSeq, type PolicyAtSeq } from './standing.ts'
import type { Waiters } from './waiters.ts'

type View = Output<typeof unifiedPolicy>
type Chunk = Output<typeof unifiedPolicyChunk>
/** State of the gateway: a sequence number, and the time of the answer that it has. */
export type KnownState = { since: number; asOf: number | undefined }

/** Span of an answer. `touched` is undefined for a snapshot. `view` is set if ends of postures matter. */
type Span = { known: KnownState | undefined; to: PolicyAtSeq; touched: Touched | undefined; view: PoolView | undefined }
/** The asking gateway. `isOpen`: it may receive peers. */
type Asking = { tenant: TenantId; gateway: GatewayRow; pool: PoolRow; isOpen: boolean }
type Content = { seq: number; bytes: Buffer }
const baseOf = ({ known, touched }: Span): number | null => (touched && known ? known.since : null)

const pollSeconds = 15
/** Reuse time of content: a quarter of the shortest lifetime. */
const reuseFor = 30 * second
const budgetBytes = 128 * 1024 * 1024
/** Minimum wait of a held request, since the entries of many devices may end at nearly the same time. */
const shortestLook = 20

/**
 * Policy for gateways: a signed snapshot, or the changes since a sequence number. The content is made once for all
 * gateways of a pool with the same span. Each gateway gets it signed with its own id, so that it can refuse an answer
 * for another gateway or tenant.
 */
export function createUnifiedPolicy({
  feed,
  changes,
  trust,
  policy,
  now,
  registry,
  deltas,
  peers,
  snapshots,
  waiters,
}: Pick<GatewaysDeps, 'feed' | 'changes' | 'trust' | 'policy' | 'now'> & {
  registry: Registry
  deltas: Deltas
  peers: Peers
  snapshots: Snapshots
  waiters: Waiters
}) {
  const contents = createByteCache<Content>({ maxBytes: budgetBytes, maxAgeMs: reuseFor, nowMs: () => now().getTime() })
  const making = new Map<string, Promise<Content>>()
  const standingOf = createPoliciesAtSeq({ feed, policy })
  changes.listen('values', { changed: () => {}, forgotten: contents.clear })

  async function asking({ tenantId, principal }: Actor<'gateway'>): Promise<Asking> {
    const { gateways, pools } = await registry.of(tenantId)
    const gateway = gateways.get(principal.id) ?? unauthorized()
    if (gateway.locked) unauthorized()
    const pool = pools.get(gateway.pool_id) ?? unauthorized()
    return { tenant: tenantId, gateway, pool, isOpen: !closedBy(gateway, pool) }
  }

  /**
   * Computes the changes since the gateway's state: recorded changes and, if postures have an end, changes by time
   * alone.
   */
  async function spanOf(
    { tenant, gateway, pool }: Asking,
    knownState: KnownState | undefined,
    to: PolicyAtSeq,
  ): Promise<Span> {
    const poolId = pool.pool_id
    const { policy: current } = to
    const view = current.isTimed ? await snapshots.viewOf(tenant, poolId, to) : undefined
    const whole = { known: knownState, to, touched: undefined, view }
    if (!knownState || knownState.since > to.seq) return whole
    // If time changes nothing, requests for the same span at different times share an answer.
    const known = current.isTimed || knownState.since < current.seq ? knownState : { ...knownState, asOf: undefined }
    const touched = await deltas.between(tenant, { ...known, to })
    // A change of the pool itself needs a snapshot.
    if (!touched || touched.pools.has(poolId)) return whole
    // A change of the gateway may have changed whether it receives peers.
    if (pool.requires_approval && touched.gateways.has(gateway.gateway_id)) return whole
    if (!view) return { known, to, touched, view }
    const timed = known.asOf === undefined ? undefined : timedAfter(view, known.asOf)
    if (!timed) return whole
    if (timed.length === 0) return { known, to, touched, view }
    return { known, to, touched: { ...touched, devices: new Set([...touched.devices, ...timed]) }, view }
  }

  async function contentOf({ tenant, pool, isOpen }: Asking, span: Span) {
    const poolId = pool.pool_id
    const { touched, to } = span
    const none = { peers: [], chunks: [], variants: {} }
    if (!touched) {
      const view = await snapshots.viewOf(tenant, poolId, to)
      const open = isOpen ? await snapshots.peersOf(tenant, poolId, view) : none
      const sessions = await deltas.cutLately(tenant, poolId, pool.lifetime_seconds * second)
      const revocations = { devices: [], sessions }
      // The view may have a later sequence number than the request. The answer names that number.
      return { seq: view.seq, at: view.at, revocations, moved: [], patches: [], ...open, removed_peers: [] }
    }
    const at = Math.max(now().getTime(), span.view?.at ?? 0)
    const { revoked, ...rest } = await peers.touched(tenant, poolId, { touched, at, policy: to.policy })
    const closed = {
      ...none,
      moved: [],
      patches: [],
      removed_peers: [...rest.peers.map((p) => p.device_id), ...rest.removed_peers],
    }
    return {
      seq: to.seq,
      at,
      revocations: { devices: revoked, sessions: touched.sessions.get(poolId) ?? [] },
      chunks: [],
      ...(isOpen ? rest : closed),
    }
  }

  /** Makes the part of the payload that is equal for every gateway of the pool, as the rest of a JSON object. */
  async function makeContent(asks: Asking, span: Span): Promise<Content> {
    const { tenant, pool } = asks
    const { seq, at, ...given } = await contentOf(asks, span)
    const content = {
      kind: span.touched ? 'delta' : 'snapshot',
      pool_id: encodeId('gateway_pool', pool.pool_id),
      pool: poolPart(tenant, pool),
      seq,
      base_seq: baseOf(span),
      generated_at: new Date(at).toISOString(),
      expires_at: new Date(at + pool.lifetime_seconds * second).toISOString(),
      ...given,
      trust_anchor_version: await trust.versionOf(tenant),
    }
    return { seq, bytes: Buffer.from(`,${JSON.stringify(content).slice(1)}`) }
  }

  async function sharedContent(asks: Asking, span: Span): Promise<Content> {
    const { tenant, pool, isOpen } = asks
    const { known, view } = span
    const timed = view ? view.chunks.reduce((at, chunk) => Math.max(at, chunk.changedAt), 0) : 0
    const since = [baseOf(span), baseOf(span) === null ? '' : known?.asOf]
    const key = [tenant, pool.pool_id, isOpen, ...since, span.to.seq, timed].join('|')
    const before = contents.get(key)
    if (before) return before
    let running = making.get(key)
    if (!running) {
      running = makeContent(asks, span).finally(() => making.delete(key))
      making.set(key, running)
    }
    const made = await running
    contents.set(key, made)
    return made
  }

  async function answer(asks: Asking, span: Span): Promise<Representation<View>> {
    const { tenant, gateway } = asks
    const { seq, bytes } = await sharedContent(asks, span)
    const named = {
      schema: 'holdfast.gateway-policy/1',
      tenant_id: encodeId('tenant', tenant),
      gateway_id: encodeId('gateway', gateway.gateway_id),
      gateway: gatewayPart(tenant, gateway),
    }
    const payload = Buffer.concat([Buffer.from(JSON.stringify(named).slice(0, -1)), bytes])
    const signed = await signJws(await trust.signerFor(tenant, 'gateway-policy'), 'gateway-policy+jws', payload)
    const view: View = {
      kind: span.touched ? 'delta' : 'snapshot',
      seq,
      base_seq: baseOf(span),
      policy: signed,
      poll_seconds: pollSeconds,
    }
    return new Representation<View>(undefined, Buffer.from(JSON.stringify(view)))
  }

  return {
    /**
     * `known`: state of the gateway. With `hold` the request is held until a change concerns the gateway. At its end an
     * empty delta gives the gateway a new `expires_at`.
     */
    answer: async (
      actor: Actor<'gateway'>,
      known: KnownState | undefined,
      hold: Hold | undefined,
    ): Promise<Representation<View>> => {
      const tenant = actor.tenantId
      const { pool } = await asking(actor)
      // A longer hold would renew the gateway's policy too late.
      const longest = pool.lifetime_seconds / 4
      const deadline = performance.now() + Math.min(hold?.seconds ?? 0, longest) * second
      const ticket = known && hold ? waiters.enter(tenant, actor.principal.id) : undefined
      if (!ticket) hold?.decline()
      if (ticket) hold?.whenGone(ticket.onClientGone)
      try {
        for (let isWoken = false; ; isWoken = true) {
          const to = await standingOf(tenant, known?.since)
          // A request that arrives while others are answered is answered together with them in the next round.
          if (ticket && !isWoken && known && known.since < to.seq && waiters.joinRound(tenant)) {
            await ticket.next(deadline - performance.now())
            continue
          }
          const asks = await asking(actor)
          const span = await spanOf(asks, known, to)
          const left = deadline - performance.now()
          const waits = ticket && left > 0 && span.touched && !concerns(span.touched, asks.gateway)
          if (!waits) return await answer(asks, span)
          const untilEnd = span.view ? nextEnd(span.view) - now().getTime() : Number.POSITIVE_INFINITY
          const outcome = await ticket.next(Math.min(left, Math.max(untilEnd, shortestLook)))
          if (outcome === 'gone' || outcome === 'stopped') return await answer(asks, span)
        }
      } finally {
        ticket?.leave()
      }
    },

    /** Returns a chunk that a snapshot of the gateway's pool named. */
    chunk: async (actor: Actor<'gateway'>, digest: string): Promise<Representation<Chunk>> => {
      const tenant = actor.tenantId
      const at = await standingOf(tenant)
      const { pool, isOpen } = await asking(actor)
      const bytes = isOpen ? await snapshots.chunk(tenant, pool.pool_id, digest, at) : undefined
      if (!bytes) fail('not_found', 'no such chunk: fetch the snapshot again')
      return new Representation<Chunk>(digest, bytes)
    },
  }
}
export type UnifiedPolicy = ReturnType<typeof createUnifiedPolicy>
