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
import { fencedAt } from '../../../replication/fenced.ts'
import * as queries from './proof.queries.ts'
import { BrokenRecord, type Tiles } from './tiles.ts'

/** Minimum time between two checkpoints made on request. */
const apartMs = 2 * second

/** Keys that sign checkpoints. Provided by the trust module. */
export type CheckpointKeys = {
  signer: (tenant: TenantId) => Promise<Signer>
  /** Undefined for a key that is no longer published. */
  published: (tenant: TenantId, kid: string) => Promise<PublicJwk | undefined>
}

/** Signed checkpoints of a tenant's audit log. */
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
   * Unique name of a log (C2SP tlog-checkpoint). A log restored from a backup gets a new name, since it assigns later
   * sequence numbers to other events. Checkpoints signed before the restore stay true for the old name.
   */
  const originOf = (tenant: TenantId, fenced: Date | null): string =>
    [new URL(publicUrl).host, 'audit', encodeId('tenant', tenant), ...(fenced ? [fenced.toISOString()] : [])].join('/')

  /**
   * Reads a signed checkpoint. If its key is no longer published, the signature is not checked, and only the tiles
   * confirm the content.
   */
  function read(tenant: TenantId, { note, size }: queries.CheckpointRow, jwk: PublicJwk | undefined): Checkpoint {
    try {
      return jwk ? openCheckpoint(note, [jwk]) : peekCheckpoint(note)
    } catch (e) {
      if (!(e instanceof CryptoError)) throw e
      throw new BrokenRecord(tenant, `has a checkpoint of ${size} events with an invalid signature: ${e.message}`)
    }
  }

  /** Refuses to sign a log that contradicts an earlier checkpoint, because it was modified or truncated. */
  async function requireGrown(tenant: TenantId, row: queries.CheckpointRow, to: number): Promise<void> {
    const { size } = row
    const signed = read(tenant, row, await keys.published(tenant, row.kid))
    if (signed.size !== size || size > to)
      throw new BrokenRecord(
        tenant,
        `ends at sequence number ${to}, but a signed checkpoint covers ${signed.size} events`,
      )
    const [root] = await tiles.hashesOf(tenant, [[0, size]])
    if (!root?.equals(signed.root))
      throw new BrokenRecord(tenant, `differs from the signed checkpoint of sequence number ${size}`)
  }

  /**
   * Makes a checkpoint at the head of the log. Returns the existing one if it already covers the head; undefined for an
   * empty log.
   */
  async function make(tenant: TenantId): Promise<queries.CheckpointRow | undefined> {
    await catchUp(tenant)
    // The order matters: a checkpoint signed by another replica meanwhile covers no more than `size`.
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
  /** Concurrent callers share the same run. */
  function makeShared(tenant: TenantId): ReturnType<typeof make> {
    const made = making.get(tenant) ?? make(tenant).finally(() => making.delete(tenant))
    making.set(tenant, made)
    return made
  }
  const newestOf = (tenant: TenantId) => db.inTenant(tenant, (tx) => queries.newestCheckpoint(tx, tenant))

  return {
    make,
    /**
     * Returns a checkpoint that covers `seq`. Makes a new one if the newest does not reach that far, or if its key is
     * no longer in the trust set. Each such request is audited and would need yet another checkpoint, so it waits until
     * the newest is old enough.
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
      // The shared run may have begun before this event was sequenced.
      if (row && row.size < seq) row = await makeShared(tenant)
      if (row && row.size >= seq) return row
      throw new BrokenRecord(tenant, `ends before sequence number ${seq}`)
    },
  }
}
export type Checkpoints = ReturnType<typeof createCheckpoints>
