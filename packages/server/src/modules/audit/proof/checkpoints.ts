import { setTimeout as delay } from 'node:timers/promises'
import {
  type Checkpoint,
  CryptoError,
  openCheckpoint,
  type PublicJwk,
  peekCheckpoint,
  type Signer,
  signCheckpoint,
} from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { second } from '../../../kernel/time.ts'
import { fencedAt } from '../../../memory/fenced.ts'
import * as queries from './proof.queries.ts'
import { BrokenRecord, type Tiles } from './tiles.ts'

/** At least so long after one the next one is made because somebody asks. */
const apartMs = 2 * second

/** The keys that sign checkpoints. Given by the module of trust. */
export type CheckpointKeys = {
  signer: (tenant: TenantId) => Promise<Signer>
  /** Undefined for a key that has ended. */
  published: (tenant: TenantId, kid: string) => Promise<PublicJwk | undefined>
}

/** What was signed of the record of a tenant, and what is to be signed next. */
export function createCheckpoints({
  db,
  now,
  publicUrl,
  catchUp,
  keys,
  tiles,
}: {
  db: Database
  now: () => Date
  publicUrl: string
  catchUp: (tenant: TenantId) => Promise<void>
  keys: CheckpointKeys
  tiles: Tiles
}) {
  /**
   * The name of a log, which it has for itself (C2SP tlog-checkpoint). Set back to a backup it is another one: what was
   * signed of places after that stays true of the one before, and this one gets others there.
   */
  const originOf = (tenant: TenantId, fenced: Date | null): string =>
    [new URL(publicUrl).host, 'audit', encodeId('tenant', tenant), ...(fenced ? [fenced.toISOString()] : [])].join('/')

  /** What was signed; of a key that has ended the tiles alone vouch. */
  function read(tenant: TenantId, { note, size }: queries.CheckpointRow, jwk: PublicJwk | undefined): Checkpoint {
    try {
      return jwk ? openCheckpoint(note, [jwk]) : peekCheckpoint(note)
    } catch (e) {
      if (!(e instanceof CryptoError)) throw e
      throw new BrokenRecord(tenant, `has a checkpoint of ${size} places that nobody signed: ${e.message}`)
    }
  }

  /** Nothing is signed that contradicts what was signed before: a log that was changed, or wound back. */
  async function requireGrown(tenant: TenantId, row: queries.CheckpointRow, to: number): Promise<void> {
    const { size } = row
    const signed = read(tenant, row, await keys.published(tenant, row.kid))
    if (signed.size !== size || size > to)
      throw new BrokenRecord(tenant, `ends at place ${to}, and ${signed.size} places were signed`)
    const [root] = await tiles.hashesOf(tenant, [[0, size]])
    if (!root?.equals(signed.root)) throw new BrokenRecord(tenant, `is not what was signed up to place ${size}`)
  }

  /** One at the present end of the record; where that has one, the same. Undefined of an empty record. */
  async function make(tenant: TenantId): Promise<queries.CheckpointRow | undefined> {
    await catchUp(tenant)
    // In this order: what was signed meanwhile elsewhere is of no more than there is.
    const { size, newest, fenced } = await db.inTenant(tenant, async (tx) => ({
      fenced: await fencedAt(tx, tenant),
      newest: await queries.newestCheckpoint(tx, tenant),
      size: await queries.sizeOf(tx, tenant),
    }))
    if (size === newest?.size || (size === 0 && !newest)) return newest
    await tiles.fill(tenant, size)
    if (newest) await requireGrown(tenant, newest, size)
    const [root] = await tiles.hashesOf(tenant, [[0, size]])
    const signer = await keys.signer(tenant)
    const note = await signCheckpoint({ origin: originOf(tenant, fenced), size, root: root! }, signer)
    const row = { size, kid: signer.kid, note, created_at: now() }
    return db.inTenant(tenant, async (tx) =>
      (await queries.insertCheckpoint(tx, tenant, row)) ? row : queries.newestCheckpoint(tx, tenant),
    )
  }

  const making = new Map<TenantId, ReturnType<typeof make>>()
  /** Whoever asks meanwhile waits for the same one. */
  function makeShared(tenant: TenantId): ReturnType<typeof make> {
    const made = making.get(tenant) ?? make(tenant).finally(() => making.delete(tenant))
    making.set(tenant, made)
    return made
  }
  const newestOf = (tenant: TenantId) => db.inTenant(tenant, (tx) => queries.newestCheckpoint(tx, tenant))

  return {
    make,
    /**
     * The newest, made now where it does not reach so far, or the trust set no longer has the key that signed it. Each
     * question about what is new would make one, as it is on record itself: after one that is young the next one waits.
     */
    reaching: async (tenant: TenantId, seq: number): Promise<queries.CheckpointRow> => {
      let row = await newestOf(tenant)
      const isPublished = row && (await keys.published(tenant, row.kid)) !== undefined
      if (row && isPublished && row.size < seq) {
        const ageMs = now().getTime() - row.created_at.getTime()
        if (ageMs < apartMs) {
          await delay(apartMs - Math.max(0, ageMs))
          row = await newestOf(tenant)
        }
      }
      if (!row || !isPublished || row.size < seq) row = await makeShared(tenant)
      // What was being made may have begun before this place was there.
      if (row && row.size < seq) row = await makeShared(tenant)
      if (row && row.size >= seq) return row
      throw new BrokenRecord(tenant, `ends before place ${seq}`)
    },
  }
}
export type Checkpoints = ReturnType<typeof createCheckpoints>
