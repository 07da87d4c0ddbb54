import { joined, leafHash, type MerkleNode, nodesOf, rootOver, type Span } from '@holdfast/crypto'
import { background, type Database, type Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import * as queries from './proof.queries.ts'

const width = 256
const hashBytes = 32
/** Height of the tree in one tile. */
const tileHeight = 8
/** Tiles hashed in one go. Requests are served in between. */
const tilesAtOnce = 16

/** The audit log is not as it was when it was written or signed. */
export class BrokenRecord extends Error {
  override readonly name = 'BrokenRecord'

  constructor(tenant: TenantId, what: string) {
    super(`the audit log of ${encodeId('tenant', tenant)} ${what}`)
  }
}

/** The hashes in a tile, as many as exist. */
type Row = readonly Buffer[]
const split = (hashes: Buffer): Buffer[] =>
  Array.from({ length: hashes.length / hashBytes }, (_, i) => hashes.subarray(i * hashBytes, (i + 1) * hashBytes))
const leavesOf = (level: number, row: Row): Row => (level === 0 ? row.map(leafHash) : row)
const tileOf = (level: number, number: number, row: Row): queries.Tile => ({
  level,
  number,
  hashes: Buffer.concat(row),
  root: rootOver(leavesOf(level, row)),
})

/** Position of the part of a tile from which the hash of a complete subtree is computed. */
function placeOf({ height, index }: MerkleNode) {
  const level = Math.floor(height / tileHeight)
  const count = 2 ** (height % tileHeight)
  const first = index * count
  return { level, number: Math.floor(first / width), offset: first % width, count }
}
const keyOf = ({ level, number }: queries.TilePlace) => `${level}/${number}`

/** The Merkle tree over a tenant's audit log, stored as tiles. */
export function createTiles({ db }: { db: Database }) {
  /** Hashes of the events from `first + 1` on. Throws `BrokenRecord` if one is missing. */
  async function entries(tx: Tx, tenant: TenantId, first: number, most: number): Promise<Buffer[]> {
    const rows = await queries.entriesAfter(tx, tenant, first, most)
    return rows.map(({ seq, hash }, i) => {
      if (seq === first + i + 1) return hash
      throw new BrokenRecord(tenant, `lacks sequence number ${first + i + 1}`)
    })
  }
  const roots = async (tx: Tx, tenant: TenantId, level: number, first: number): Promise<Buffer[]> =>
    (await queries.rootsFrom(tx, tenant, { level, number: first }, width)).map(({ root }) => root)

  /** The existing hashes of a tile that is not full yet. */
  const begun = (tx: Tx, tenant: TenantId, { level, number }: queries.TilePlace): Promise<Buffer[]> =>
    level === 0 ? entries(tx, tenant, number * width, width) : roots(tx, tenant, level - 1, number * width)

  /**
   * Falls back to the full tile: another replica may have filled it meanwhile, and a purge may have removed its events.
   */
  const begunOrFull = (tx: Tx, tenant: TenantId, place: queries.TilePlace): Promise<Buffer[]> =>
    begun(tx, tenant, place).catch(async (e: unknown) => {
      const [tile] = e instanceof BrokenRecord ? await queries.findTiles(tx, tenant, [place]) : []
      if (!tile) throw e
      return split(tile.hashes)
    })

  /** Returns the number of tiles written. Nothing is hashed while a transaction is open. */
  async function fillEntries(tenant: TenantId, size: number): Promise<number> {
    const { from, hashes } = await db.inTenant(
      tenant,
      async (tx) => {
        const from = await queries.countTiles(tx, tenant, 0)
        const count = Math.max(0, Math.min(Math.floor(size / width) - from, tilesAtOnce))
        return { from, hashes: await entries(tx, tenant, from * width, count * width) }
      },
      background,
    )
    const tiles = Array.from({ length: Math.floor(hashes.length / width) }, (_, i) =>
      tileOf(0, from + i, hashes.slice(i * width, (i + 1) * width)),
    )
    if (tiles.length > 0) await db.inTenant(tenant, (tx) => queries.insertTiles(tx, tenant, tiles), background)
    return tiles.length
  }
  async function fillNext(tenant: TenantId, level: number): Promise<boolean> {
    const { number, row } = await db.inTenant(
      tenant,
      async (tx) => {
        const number = await queries.countTiles(tx, tenant, level)
        return { number, row: await roots(tx, tenant, level - 1, number * width) }
      },
      background,
    )
    if (row.length < width) return false
    await db.inTenant(tenant, (tx) => queries.insertTiles(tx, tenant, [tileOf(level, number, row)]), background)
    return true
  }

  /** Reads these tiles, full or partial, by key. */
  async function read(tenant: TenantId, places: readonly queries.TilePlace[]): Promise<Map<string, Row>> {
    const tilePlaces = new Map(places.map((place) => [keyOf(place), place]))
    return db.inTenant(tenant, async (tx) => {
      const full = await queries.findTiles(tx, tenant, [...tilePlaces.values()])
      const rows = new Map<string, Row>(full.map((tile) => [keyOf(tile), split(tile.hashes)]))
      for (const [key, place] of tilePlaces) if (!rows.has(key)) rows.set(key, await begunOrFull(tx, tenant, place))
      return rows
    })
  }

  return {
    /** Writes the missing tiles that are full at this size. */
    fill: async (tenant: TenantId, size: number): Promise<void> => {
      while ((await fillEntries(tenant, size)) > 0);
      for (let level = 1; size >= width ** (level + 1); level++) while (await fillNext(tenant, level));
    },

    /** Hashes of these spans, computed from their tiles. */
    hashesOf: async (tenant: TenantId, spans: readonly Span[]): Promise<Buffer[]> => {
      const parts = spans.map((span) => nodesOf(span).map(placeOf))
      const rows = await read(tenant, parts.flat())
      const hashOf = (place: ReturnType<typeof placeOf>): Buffer => {
        const part = rows.get(keyOf(place))!.slice(place.offset, place.offset + place.count)
        if (part.length < place.count) throw new BrokenRecord(tenant, 'is shorter than before')
        return rootOver(leavesOf(place.level, part))
      }
      return parts.map((places) => joined(places.map(hashOf)))
    },

    /** Hash of one event, also of a purged one. For 0 it is 32 zero bytes. */
    entryAt: async (tenant: TenantId, seq: number): Promise<Buffer> => {
      if (seq === 0) return Buffer.alloc(hashBytes)
      const place = { level: 0, number: Math.floor((seq - 1) / width) }
      const entry = (await read(tenant, [place])).get(keyOf(place))?.[(seq - 1) % width]
      return entry ?? Promise.reject(new BrokenRecord(tenant, `lacks sequence number ${seq}`))
    },
  }
}
export type Tiles = ReturnType<typeof createTiles>
