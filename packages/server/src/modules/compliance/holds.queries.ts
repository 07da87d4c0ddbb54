import { type Insertable, type Selectable, sql } from 'kysely'
import { affectedRow } from '../../db/affected-row.ts'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type HoldRow = Selectable<Tables['legal_holds']>

/** Blocks purges until commit. A later purge sees the rows of this transaction. */
export const stopPurges = (tx: Tx) => sql`select stop_purges()`.execute(tx)

export const isThere = (tx: Tx, tenant: TenantId): Promise<boolean> =>
  affectedRow(
    tx.selectFrom('tenants').select('tenant_id').where('tenant_id', '=', tenant).where('deleted_at', 'is', null),
  )

export const selectHolds = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('legal_holds').selectAll().where('tenant_id', '=', tenant)

export const findHold = (tx: Tx, tenant: TenantId, id: string): Promise<HoldRow | undefined> =>
  selectHolds(tx, tenant).where('legal_hold_id', '=', id).executeTakeFirst()

export const countStanding = async (tx: Tx, tenant: TenantId): Promise<number> => {
  const { n } = await tx
    .selectFrom('legal_holds')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('tenant_id', '=', tenant)
    .where('released_at', 'is', null)
    .executeTakeFirstOrThrow()
  return n
}

export const insertHold = (tx: Tx, row: Insertable<Tables['legal_holds']>): Promise<HoldRow> =>
  tx.insertInto('legal_holds').values(row).returningAll().executeTakeFirstOrThrow()

type Release = Pick<HoldRow, 'released_by_type' | 'released_by_id' | 'released_by_name' | 'release_reason'>
/**
 * Releases a hold. Only one concurrent call gets the row. The database clock sets the time, since it also decides when
 * the held data may be purged.
 */
export const releaseHold = (tx: Tx, tenant: TenantId, id: string, release: Release): Promise<HoldRow | undefined> =>
  tx
    .updateTable('legal_holds')
    .set({ ...release, released_at: sql<Date>`now()` })
    .where('tenant_id', '=', tenant)
    .where('legal_hold_id', '=', id)
    .where('released_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
