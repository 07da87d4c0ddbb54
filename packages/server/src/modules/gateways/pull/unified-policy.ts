import type { Output } from '@holdfast/contract'
import type { unifiedPolicy } from '@holdfast/contract/gateway-runtime'
import { signJws } from '@holdfast/crypto'
import type { Hold } from '../../../http/representation.ts'
import type { Actor, Principal, TenantId } from '../../../kernel/actor.ts'
import { unauthorized } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { Representation } from '../../../kernel/representation.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { GatewayRow } from '../registry/gateways.queries.ts'
import type { Registry } from '../registry/registry.ts'
import { createByteCache } from './byte-cache.ts'
import { concerns, type Deltas, type Touched } from './delta.ts'
import type { createPeers } from './peers.ts'
import type { Waiters } from './waiters.ts'

type View = Output<typeof unifiedPolicy>
type GatewayActor = Actor<Extract<Principal, { kind: 'gateway' }>>

/** What is asked for; `touched` undefined: all of it. */
type Span = { since: number | undefined; seq: number; touched: Touched | undefined }
type Content = { bytes: Buffer }
const baseOf = ({ since, touched }: Span): number | null => (touched && since !== undefined ? since : null)

const lifetimeMs = 15 * 60_000
const pollSeconds = 15
/** Content is given out again for this long, so their end is always more than 14 minutes away. */
const reuseMs = 30_000
const budgetBytes = 128 * 1024 * 1024

/**
 * What a gateway must enforce: a signed snapshot, or what changed since a sequence number. The content is made once for
 * all gateways of a pool that ask for the same span. Each gets it signed under its own name, so that a gateway can
 * refuse what was meant for another one or another tenant.
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
  const held = createByteCache<Content>({ maxBytes: budgetBytes, maxAgeMs: reuseMs, nowMs: () => now().getTime() })
  const making = new Map<string, Promise<Content>>()

  /** The sequence number up to which this replica has applied everything. Throws while the database is away. */
  async function currentSeq(tenant: TenantId, atLeast: number): Promise<number> {
    if (!feed.isFresh() || feed.seqOf(tenant) < atLeast) await feed.catchUp()
    return feed.seqOf(tenant)
  }

  async function gatewayOf({ tenantId, principal }: GatewayActor): Promise<GatewayRow> {
    const { gateways } = await registry.of(tenantId)
    return gateways.get(principal.id) ?? unauthorized()
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

  /** All of the payload that is the same for every gateway of the pool, as the rest of a JSON object. */
  async function makeContent(tenant: TenantId, poolId: string, span: Span): Promise<Content> {
    const at = now()
    const { revocations, variants, peers, removed_peers } = await contentOf(tenant, poolId, span.touched)
    const content = {
      kind: span.touched ? 'delta' : 'snapshot',
      pool_id: encodeId('gateway_pool', poolId),
      seq: span.seq,
      base_seq: baseOf(span),
      generated_at: at.toISOString(),
      expires_at: new Date(at.getTime() + lifetimeMs).toISOString(),
      revocations,
      variants,
      peers,
      removed_peers,
      trust_anchor_version: await trust.versionOf(tenant),
      fail_mode: 'closed',
    }
    return { bytes: Buffer.from(`,${JSON.stringify(content).slice(1)}`) }
  }

  async function sharedContent(tenant: TenantId, poolId: string, span: Span): Promise<Content> {
    const key = `${tenant}|${poolId}|${baseOf(span)}|${span.seq}`
    const known = held.get(key)
    if (known) return known
    let running = making.get(key)
    if (!running) {
      running = makeContent(tenant, poolId, span).finally(() => making.delete(key))
      making.set(key, running)
    }
    const made = await running
    held.set(key, made)
    return made
  }

  async function answer(gateway: GatewayRow, tenant: TenantId, span: Span): Promise<Representation<View>> {
    const { bytes } = await sharedContent(tenant, gateway.pool_id, span)
    const named = {
      schema: 'holdfast.gateway-policy/1',
      tenant_id: encodeId('tenant', tenant),
      gateway_id: encodeId('gateway', gateway.gateway_id),
    }
    const payload = Buffer.concat([Buffer.from(JSON.stringify(named).slice(0, -1)), bytes])
    const policy = await signJws(await trust.signerFor(tenant, 'gateway-policy'), 'gateway-policy+jws', payload)
    const view: View = {
      kind: span.touched ? 'delta' : 'snapshot',
      seq: span.seq,
      base_seq: baseOf(span),
      policy,
      poll_seconds: pollSeconds,
    }
    return new Representation<View>(undefined, Buffer.from(JSON.stringify(view)))
  }

  return {
    /**
     * `since`: the sequence number that the gateway has. With `hold` the request is held until something concerns
     * the gateway; at its end an empty delta gives the gateway a new `expires_at`.
     */
    answer: async (
      actor: GatewayActor,
      since: number | undefined,
      hold: Hold | undefined,
    ): Promise<Representation<View>> => {
      const tenant = actor.tenantId
      const deadline = performance.now() + (hold?.seconds ?? 0) * 1000
      const ticket = since !== undefined && hold ? waiters.enter(tenant, actor.principal.id) : undefined
      if (!ticket) hold?.decline()
      const signal = ticket && hold?.signal
      try {
        for (;;) {
          const seq = await currentSeq(tenant, Math.max(since ?? 0, feed.newestOf(tenant)))
          const gateway = await gatewayOf(actor)
          let touched = since !== undefined && since <= seq ? await deltas.between(tenant, since, seq) : undefined
          // What a change of the pool itself means for its peers only a snapshot says.
          if (touched?.pools.has(gateway.pool_id)) touched = undefined
          const left = deadline - performance.now()
          const waits = ticket && signal && left > 0 && touched && !concerns(touched, gateway.pool_id)
          if (!waits) return await answer(gateway, tenant, { since, seq, touched })
          const outcome = await ticket.next(left, signal)
          if (outcome === 'gone' || outcome === 'stopped') return await answer(gateway, tenant, { since, seq, touched })
        }
      } finally {
        ticket?.leave()
      }
    },
  }
}
export type UnifiedPolicy = ReturnType<typeof createUnifiedPolicy>
