import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { createSlices } from '../../../kernel/time-slice.ts'
import type { TenantPolicy } from '../../policy/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import {
  type Chunk,
  changedChunk,
  chunkCount,
  chunkIndex,
  chunkMembers,
  chunkOf,
  type Member,
  type MemberEntry,
} from './chunk.ts'
import { type Deltas, nothing, type Touched } from './delta.ts'
import { poolAccessOf } from './pool-access.ts'
import type { PolicyAtSeq } from './standing.ts'

/** All peers that a pool's gateways enforce, as of a sequence number and a time. */
export type PoolView = {
  readonly seq: number
  readonly at: number
  /** Changes by the passing of time alone are known from this time on. */
  readonly timedSince: number
  readonly chunks: readonly Chunk[]
  readonly peers: number
}

type Deps = Pick<GatewaysDeps, 'fleet' | 'now'> & { deltas: Deltas; perChunk: number }

/**
 * Makes views of pools and updates them. The cost of an update is proportional to the changes: the devices of a delta,
 * and the entries that time has changed. Unchanged chunks stay the same objects.
 */
export function createPoolViews({ fleet, deltas, now, perChunk }: Deps) {
  const entryOf = (current: TenantPolicy, device: Parameters<typeof poolAccessOf>[1], pool: string, at: number) => {
    const access = poolAccessOf(current, device, pool, at)
    return access && { ...access, since: 0 }
  }

  async function cut(members: readonly Member[]): Promise<Chunk[]> {
    const count = chunkCount(members.length, perChunk)
    const parts = Array.from({ length: count }, (): Member[] => [])
    const slice = createSlices()
    for (const member of members) {
      if (slice.isOver()) await slice.next()
      parts[chunkIndex(member[0], count)]?.push(member)
    }
    const chunks: Chunk[] = []
    for (const part of parts) {
      if (slice.isOver()) await slice.next()
      chunks.push(chunkOf(part))
    }
    return chunks
  }

  async function make(tenant: TenantId, poolId: string, { seq, policy: current }: PolicyAtSeq): Promise<PoolView> {
    const at = now().getTime()
    const pool = encodeId('gateway_pool', poolId)
    const members: Member[] = []
    const slice = createSlices()
    for (const device of (await fleet.all(tenant)).values()) {
      if (slice.isOver()) await slice.next()
      const entry = entryOf(current, device, pool, at)
      if (entry) members.push([device.deviceId, entry])
    }
    return { seq, at, timedSince: at, chunks: await cut(members), peers: members.length }
  }

  /** Returns the view with the current state of the changed devices, and of the entries that have reached their end. */
  async function advance(view: PoolView, tenant: TenantId, poolId: string, to: PolicyAtSeq, touched: Touched) {
    const at = Math.max(now().getTime(), view.at)
    const pool = encodeId('gateway_pool', poolId)
    const { seq, policy: current } = to
    const devices = await fleet.all(tenant)
    const slice = createSlices()
    const changes = new Map<number, Map<string, MemberEntry | undefined>>()
    const put = (id: string, entry: MemberEntry | undefined) => {
      const index = chunkIndex(id, view.chunks.length)
      const own = changes.get(index) ?? new Map<string, MemberEntry | undefined>()
      changes.set(index, own.set(id, entry))
    }
    const timed: string[] = []
    for (const chunk of view.chunks) {
      if (slice.isOver()) await slice.next()
      if (chunk.end > at) continue
      for (const [i, next] of chunk.nexts.entries()) if (next <= at) timed.push(chunk.ids[i] ?? '')
    }
    for (const [ids, isTimed] of [[timed, true] as const, ...lists(touched)])
      for (const id of ids) {
        if (slice.isOver()) await slice.next()
        const device = devices.get(id)
        const entry = device && entryOf(current, device, pool, at)
        put(id, entry && isTimed ? { ...entry, since: at } : entry)
      }
    const chunks = [...view.chunks]
    for (const [index, own] of changes) {
      if (slice.isOver()) await slice.next()
      const before = chunks[index]
      if (before) chunks[index] = changedChunk(before, own)
    }
    const peers = chunks.reduce((sum, { ids }) => sum + ids.length, 0)
    const next = { seq, at, timedSince: view.timedSince, chunks, peers }
    if (chunkCount(peers, perChunk) === chunks.length) return next
    return { ...next, chunks: await cut(chunks.flatMap(chunkMembers)) }
  }

  return {
    make,
    /** Updates a view to a sequence number or later. Makes a new one if the change log lacks the changes between. */
    bring: async (view: PoolView, tenant: TenantId, poolId: string, to: PolicyAtSeq): Promise<PoolView> => {
      if (view.seq > to.seq) return view
      const span = { since: view.seq, asOf: view.at, to }
      const touched = view.seq === to.seq ? nothing : await deltas.between(tenant, span)
      return touched && !touched.pools.has(poolId)
        ? advance(view, tenant, poolId, to, touched)
        : make(tenant, poolId, to)
    },
  }
}

const lists = ({ devices, moved }: Touched) => [devices, ...moved.map((m) => m.ids)].map((ids) => [ids, false] as const)

/** Returns the next time at which the passing of time changes an entry. */
export const nextEnd = ({ chunks }: PoolView): number =>
  chunks.reduce((end, chunk) => Math.min(end, chunk.end), Number.POSITIVE_INFINITY)

/** Returns the devices that the passing of time has changed after a time; undefined if that is too long ago. */
export function timedAfter({ chunks, timedSince }: PoolView, asOf: number): string[] | undefined {
  if (asOf < timedSince) return undefined
  return chunks.flatMap((chunk) =>
    chunk.changedAt > asOf ? chunk.ids.filter((_, i) => (chunk.sinces[i] ?? 0) > asOf) : [],
  )
}
