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
  chunkOf,
  type Entry,
  type Member,
  membersOf,
} from './chunk.ts'
import { type Deltas, nothing, type Touched } from './delta.ts'
import { poolAccessOf } from './pool-access.ts'
import type { Standing } from './standing.ts'

/** Everything that a pool's gateways enforce, as of a sequence number and a moment. */
export type PoolView = {
  readonly seq: number
  readonly at: number
  /** What time alone changed is known from here on. */
  readonly timedSince: number
  readonly chunks: readonly Chunk[]
  readonly peers: number
}

type Deps = Pick<GatewaysDeps, 'fleet' | 'now'> & { deltas: Deltas; perChunk: number }

/**
 * Makes a pool's view, and brings one up to date with work in proportion to what changed: the devices that a delta
 * names, and those whose entry time has changed. Untouched chunks stay the same objects.
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

  async function make(tenant: TenantId, poolId: string, { seq, policy: current }: Standing): Promise<PoolView> {
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

  /** The same view with what became of these devices and of those whose time has come. */
  async function advance(view: PoolView, tenant: TenantId, poolId: string, to: Standing, touched: Touched) {
    const at = Math.max(now().getTime(), view.at)
    const pool = encodeId('gateway_pool', poolId)
    const { seq, policy: current } = to
    const devices = await fleet.all(tenant)
    const slice = createSlices()
    const changes = new Map<number, Map<string, Entry | undefined>>()
    const put = (id: string, entry: Entry | undefined) => {
      const index = chunkIndex(id, view.chunks.length)
      const own = changes.get(index) ?? new Map<string, Entry | undefined>()
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
    return { ...next, chunks: await cut(chunks.flatMap(membersOf)) }
  }

  return {
    make,
    /** A view as of a number, or a later one, from an earlier one, where the change log says what lies between. */
    bring: async (view: PoolView, tenant: TenantId, poolId: string, to: Standing): Promise<PoolView> => {
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

/** The next moment at which time alone changes something. */
export const nextEnd = ({ chunks }: PoolView): number =>
  chunks.reduce((end, chunk) => Math.min(end, chunk.end), Number.POSITIVE_INFINITY)

/** The devices that time alone has changed after a moment. Undefined: that lies too far back to be known. */
export function timedAfter({ chunks, timedSince }: PoolView, asOf: number): string[] | undefined {
  if (asOf < timedSince) return undefined
  return chunks.flatMap((chunk) =>
    chunk.changedAt > asOf ? chunk.ids.filter((_, i) => (chunk.sinces[i] ?? 0) > asOf) : [],
  )
}
