import { setImmediate as otherWork } from 'node:timers/promises'
import type { VariantContent } from '@holdfast/policy'
import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { createKeyedMutex } from '../../../kernel/concurrency.ts'
import { minute } from '../../../kernel/time.ts'
import { createSlices } from '../../../kernel/time-slice.ts'
import type { GatewaysDeps } from '../deps.ts'
import { createByteCache } from './byte-cache.ts'
import { type Chunk, chunkMembers, type EncodedChunk, encodeChunk, type SnapshotSize } from './chunk.ts'
import type { Deltas } from './delta.ts'
import { type Peer, peerOf } from './peer.ts'
import { createPoolViews, type PoolView } from './pool-view.ts'
import type { PolicyAtSeq } from './standing.ts'

/** Peers of a snapshot: the peers themselves, or digests and sizes of their chunks. */
type SnapshotPeers = {
  peers: readonly Peer[]
  chunks: readonly { digest: string; bytes: number }[]
  variants: Record<string, VariantContent>
}

const maxViews = 256
/** Time after which the view of a pool is dropped if no gateway asked for it. */
const idleFor = 20 * minute
/** Limit of cached chunk bytes. Evicted chunks are encoded again on request. */
const budgetBytes = 128 * 1024 * 1024
/** Limit of chunks that a gateway may still fetch after a change replaced them. */
const maxOffered = 2048
const offeredFor = 5 * minute

/**
 * Peers of pools, cached as chunks. A change replaces one chunk, and the gateways of a pool share its bytes. The work
 * is cut into time slices, so that a large snapshot does not block other requests.
 */
export function createSnapshots({
  changes,
  fleet,
  now,
  deltas,
  size,
}: Pick<GatewaysDeps, 'changes' | 'fleet' | 'now'> & { deltas: Deltas; size: SnapshotSize }) {
  const views = createPoolViews({ fleet, now, deltas, perChunk: size.perChunk })
  const poolViews = new BoundedMap<string, { view: PoolView; usedAt: number }>(maxViews)
  const inTurn = createKeyedMutex(Number.POSITIVE_INFINITY)
  const encoded = new WeakMap<Chunk, { digest: string; bytes: number }>()
  const offered = new BoundedMap<string, Chunk>(maxOffered)
  const bytesOf = createByteCache<EncodedChunk>({
    maxBytes: budgetBytes,
    maxAgeMs: offeredFor,
    nowMs: () => performance.now(),
  })

  changes.listen('values', { changed: () => {}, forgotten: poolViews.clear.bind(poolViews) })

  /** Returns the view of a pool at a sequence number or later, with all ends up to now applied. */
  async function viewOf(tenant: TenantId, poolId: string, to: PolicyAtSeq): Promise<PoolView> {
    const key = `${tenant}|${poolId}`
    const view = await inTurn(key, async () => {
      const before = poolViews.get(key)?.view
      const next = before ? await views.bring(before, tenant, poolId, to) : await views.make(tenant, poolId, to)
      poolViews.set(key, { view: next, usedAt: performance.now() })
      for (const [other, { usedAt }] of poolViews.entries())
        if (performance.now() - usedAt > idleFor) poolViews.delete(other)
      return next
    })
    return view ?? views.make(tenant, poolId, to)
  }

  /** `at` is a time before any entry of the chunk changes, so any such time gives the same peers. */
  async function peersOf(tenant: TenantId, chunk: Chunk, at: number): Promise<Peer[]> {
    const devices = await fleet.all(tenant)
    return chunkMembers(chunk).flatMap(([id, entry]) => {
      const device = devices.get(id)
      return device ? [peerOf(device, entry, at)] : []
    })
  }

  async function encode(tenant: TenantId, poolId: string, chunk: Chunk, at: number): Promise<EncodedChunk> {
    const made = encodeChunk(await peersOf(tenant, chunk, at))
    encoded.set(chunk, { digest: made.digest, bytes: made.bytes.length })
    bytesOf.set(`${tenant}|${made.digest}`, made)
    offered.set(`${tenant}|${poolId}|${made.digest}`, chunk)
    return made
  }

  /**
   * Encodes one chunk at a time and yields to other work between two. Each chunk is encoded once, however many gateways
   * start at the same time.
   */
  async function bytesOfChunk(tenant: TenantId, poolId: string, chunk: Chunk, at: number): Promise<EncodedChunk> {
    const made = await inTurn('chunks', async () => {
      const cachedBytes = bytesOf.get(`${tenant}|${encoded.get(chunk)?.digest}`)
      if (cachedBytes) return cachedBytes
      await otherWork()
      return encode(tenant, poolId, chunk, at)
    })
    return made ?? encode(tenant, poolId, chunk, at)
  }

  /** Returns the digests of the chunks of a view. Unchanged chunks have one already. */
  async function offer(tenant: TenantId, poolId: string, { chunks, at }: PoolView) {
    const chunkRefs: { digest: string; bytes: number }[] = []
    const slice = createSlices()
    for (const chunk of chunks) {
      if (slice.isOver()) await slice.next()
      let known = encoded.get(chunk)
      if (known) offered.set(`${tenant}|${poolId}|${known.digest}`, chunk)
      else {
        const { digest, bytes } = await bytesOfChunk(tenant, poolId, chunk, at)
        known = { digest, bytes: bytes.length }
      }
      chunkRefs.push(known)
    }
    return chunkRefs
  }

  return {
    viewOf,
    peersOf: async (tenant: TenantId, poolId: string, view: PoolView): Promise<SnapshotPeers> => {
      const variants: SnapshotPeers['variants'] = {}
      const digests = new Set(view.chunks.flatMap((chunk) => [...chunk.distinct]))
      for (const { digest, content } of digests) variants[digest] = content
      if (view.peers > size.inlineUpTo) return { peers: [], chunks: await offer(tenant, poolId, view), variants }
      const peers: Peer[] = []
      for (const chunk of view.chunks) peers.push(...(await peersOf(tenant, chunk, view.at)))
      return { peers, chunks: [], variants }
    },
    /** Returns the bytes of a chunk that was offered recently, or that is part of the current view. */
    chunk: async (tenant: TenantId, poolId: string, digest: string, at: PolicyAtSeq): Promise<Buffer | undefined> => {
      const key = `${tenant}|${poolId}|${digest}`
      // Another replica may have offered it.
      if (!offered.get(key)) await offer(tenant, poolId, await viewOf(tenant, poolId, at))
      const chunk = offered.get(key)
      if (!chunk) return undefined
      const bytes = bytesOf.get(`${tenant}|${digest}`) ?? (await bytesOfChunk(tenant, poolId, chunk, now().getTime()))
      return bytes.digest === digest ? bytes.bytes : undefined
    },
  }
}
export type Snapshots = ReturnType<typeof createSnapshots>
