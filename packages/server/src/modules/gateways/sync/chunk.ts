import { sha256Hex } from '@holdfast/crypto'
import type { Variant } from '@holdfast/policy'
import type { Peer } from './peer.ts'
import type { PoolAccess } from './pool-access.ts'

/** Chunking of a snapshot: unchunked up to `inlineUpTo` peers, otherwise in chunks of about `perChunk`. */
export type SnapshotSize = { inlineUpTo: number; perChunk: number }

/**
 * State of a device for a pool's gateways. `since`: time at which the passing of time alone produced it; 0 if a change
 * did.
 */
export type MemberEntry = PoolAccess & { readonly since: number }

/** Peers whose ids fall into one part of the hash space, sorted by id, one column per field. Immutable. */
export type Chunk = {
  readonly ids: readonly string[]
  readonly variants: readonly Variant[]
  readonly untils: Float64Array
  readonly nexts: Float64Array
  readonly sinces: Float64Array
  readonly distinct: ReadonlySet<Variant>
  /** `end`: earliest time at which the passing of time changes an entry. `changedAt`: latest time at which it did. */
  readonly end: number
  readonly changedAt: number
}
export type Member = readonly [id: string, entry: MemberEntry]
export type EncodedChunk = { digest: string; bytes: Buffer }

/** Returns a power of two, so that the count stays constant while a fleet grows slowly. */
export const chunkCount = (peers: number, perChunk: number): number =>
  2 ** Math.max(0, Math.ceil(Math.log2(peers / perChunk)))

/** Returns the chunk of a device among `count` (a power of two): the first bits of a hash of its id (FNV-1a, mixed). */
export function chunkIndex(id: string, count: number): number {
  if (count === 1) return 0
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) >>> (32 - Math.log2(count))
}

/** `members` may be in any order. */
export function chunkOf(members: readonly Member[]): Chunk {
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1))
  const untils = Float64Array.from(sorted, ([, entry]) => entry.until)
  const nexts = Float64Array.from(sorted, ([, entry]) => entry.next)
  const sinces = Float64Array.from(sorted, ([, entry]) => entry.since)
  const variants = sorted.map(([, entry]) => entry.variant)
  return {
    ids: sorted.map(([id]) => id),
    variants,
    distinct: new Set(variants),
    untils,
    nexts,
    sinces,
    end: nexts.reduce((end, next) => Math.min(end, next), Number.POSITIVE_INFINITY),
    changedAt: sinces.reduce((at, since) => Math.max(at, since), 0),
  }
}

export const chunkMembers = ({ ids, variants, untils, nexts, sinces }: Chunk): Member[] =>
  ids.flatMap((id, i): Member[] => {
    const variant = variants[i]
    return variant ? [[id, { variant, until: untils[i] ?? 0, next: nexts[i] ?? 0, since: sinces[i] ?? 0 }]] : []
  })

/** Returns a copy of the chunk with these devices added, changed or (undefined) removed. */
export function changedChunk(chunk: Chunk, changes: ReadonlyMap<string, MemberEntry | undefined>): Chunk {
  const members = new Map(chunkMembers(chunk))
  for (const [id, entry] of changes) {
    if (entry) members.set(id, entry)
    else members.delete(id)
  }
  return chunkOf([...members])
}

/** Encodes peers as canonical JSON (RFC 8785), named by its SHA-256. Equal peers give equal bytes on every replica. */
export function encodeChunk(peers: readonly Peer[]): EncodedChunk {
  const text = JSON.stringify({ peers })
  return { digest: `sha256:${sha256Hex(text)}`, bytes: Buffer.from(text) }
}
