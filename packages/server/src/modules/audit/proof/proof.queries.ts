import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { purgeTime } from '../../../db/kept.ts'
import { deleting } from '../../../db/retention.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { isPlaced } from '../events/conditions.queries.ts'

export type Tile = Omit<Selectable<Tables['audit_tiles']>, 'tenant_id'>
export type CheckpointRow = Omit<Selectable<Tables['audit_checkpoints']>, 'tenant_id'>
export type TilePlace = Pick<Tile, 'level' | 'number'>

/** Number of events in the audit log. */
export async function sizeOf(tx: Tx, tenant: TenantId): Promise<number> {
  const head = await tx.selectFrom('audit_heads').select('seq').where('tenant_id', '=', tenant).executeTakeFirst()
  return head?.seq ?? 0
}

/** Tenants whose newest checkpoint is not at the head of the log. Each tenant costs two index look-ups. */
export async function tenantsToSign(tx: Tx): Promise<TenantId[]> {
  const { rows } = await sql<{ tenant_id: TenantId }>`
    select h.tenant_id from audit_heads h where h.seq <> coalesce((
      select c.size from audit_checkpoints c where c.tenant_id = h.tenant_id order by c.size desc limit 1), 0)`.execute(
    tx,
  )
  return rows.map((r) => r.tenant_id)
}

/** The known hashes after a sequence number, in order. */
export async function entriesAfter(tx: Tx, tenant: TenantId, seq: number, most: number) {
  const next = (table: 'audit_log' | 'audit_leaves') =>
    tx
      .selectFrom(table)
      .select(['seq', 'hash'])
      .where('tenant_id', '=', tenant)
      .where('seq', '>', seq)
      .orderBy('seq')
      .limit(most)
      .execute()
  const kept = await next('audit_log')
  // Purged events come first. If there are none, `audit_leaves` need not be read.
  if (kept[0]?.seq === seq + 1 || most === 0) return kept
  const purged = (await next('audit_leaves')).filter((leaf) => kept[0] === undefined || leaf.seq < kept[0].seq)
  return [...purged, ...kept].slice(0, most)
}

export const findProvenEvent = (tx: Tx, tenant: TenantId, eventId: string) =>
  tx
    .selectFrom('audit_log')
    .select(['seq', 'hash'])
    .where('tenant_id', '=', tenant)
    .where('event_id', '=', eventId)
    .where(isPlaced(tenant))
    .executeTakeFirst()

/** Number of full tiles of a level. Tiles are written in order. */
export async function countTiles(tx: Tx, tenant: TenantId, level: number): Promise<number> {
  const last = await tx
    .selectFrom('audit_tiles')
    .select('number')
    .where('tenant_id', '=', tenant)
    .where('level', '=', level)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return last ? last.number + 1 : 0
}

/** Two concurrent writers write the same values. */
export const insertTiles = (tx: Tx, tenant: TenantId, tiles: readonly Tile[]) =>
  tx
    .insertInto('audit_tiles')
    .values(tiles.map((tile) => ({ ...tile, tenant_id: tenant })))
    .onConflict((c) => c.columns(['tenant_id', 'level', 'number']).doNothing())
    .execute()

export const findTiles = (tx: Tx, tenant: TenantId, places: readonly TilePlace[]): Promise<Tile[]> =>
  tx
    .selectFrom('audit_tiles')
    .select(['level', 'number', 'hashes', 'root'])
    .where('tenant_id', '=', tenant)
    .where(
      sql<boolean>`(level, number) in (select l, n from unnest(${places.map((p) => p.level)}::smallint[],
        ${places.map((p) => p.number)}::bigint[]) as place (l, n))`,
    )
    .execute()

/** Roots of the level's tiles from this one on, at most as many as one tile of the next level holds. */
export const rootsFrom = (tx: Tx, tenant: TenantId, { level, number }: TilePlace, most: number) =>
  tx
    .selectFrom('audit_tiles')
    .select(['number', 'root'])
    .where('tenant_id', '=', tenant)
    .where('level', '=', level)
    .where('number', '>=', number)
    .orderBy('number')
    .limit(most)
    .execute()

const checkpoints = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('audit_checkpoints').select(['size', 'kid', 'note', 'created_at']).where('tenant_id', '=', tenant)

export const newestCheckpoint = (tx: Tx, tenant: TenantId): Promise<CheckpointRow | undefined> =>
  checkpoints(tx, tenant).orderBy('size', 'desc').limit(1).executeTakeFirst()

export const checkpointsAfter = (
  tx: Tx,
  tenant: TenantId,
  { after, descending, most }: { after: number | undefined; descending: boolean; most: number },
): Promise<CheckpointRow[]> => {
  const all = checkpoints(tx, tenant)
    .orderBy('size', descending ? 'desc' : 'asc')
    .limit(most)
  return (after === undefined ? all : all.where('size', descending ? '<' : '>', after)).execute()
}

export const pruneCheckpoints = deleting(
  'audit_checkpoints',
  sql`created_at < ${purgeTime} - interval '7 days' and is_thinned(audit_checkpoints)`,
)

/** False if another replica was faster. */
export const insertCheckpoint = (tx: Tx, tenant: TenantId, row: CheckpointRow): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('audit_checkpoints')
      .values({ ...row, tenant_id: tenant })
      .onConflict((c) => c.columns(['tenant_id', 'size']).doNothing())
      .returning('size'),
  )
