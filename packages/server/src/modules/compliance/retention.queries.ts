import type { RetentionClass } from '@holdfast/contract/vocabulary'
import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** What the tenant set; a class that is absent is kept as the deployment says. */
export type SetDays = Partial<Record<RetentionClass, number>>
export type StoredRetention = Pick<Selectable<Tables['retention_settings']>, 'days' | 'settles_at'>

export const readRetention = (tx: Tx, tenant: TenantId): Promise<StoredRetention | undefined> =>
  tx.selectFrom('retention_settings').select(['days', 'settles_at']).where('tenant_id', '=', tenant).executeTakeFirst()

/** Holds the row until commit, so that of two changes the second sees the first. */
export const lockRetention = async (tx: Tx, tenant: TenantId, at: Date): Promise<StoredRetention> => {
  await tx
    .insertInto('retention_settings')
    .values({ tenant_id: tenant, days: '{}', settles_at: at, updated_at: at })
    .onConflict((c) => c.column('tenant_id').doNothing())
    .execute()
  return tx
    .selectFrom('retention_settings')
    .select(['days', 'settles_at'])
    .where('tenant_id', '=', tenant)
    .forUpdate()
    .executeTakeFirstOrThrow()
}

export const writeRetention = (tx: Tx, tenant: TenantId, set: { days: SetDays; settles_at: Date; updated_at: Date }) =>
  tx
    .updateTable('retention_settings')
    .set({ ...set, days: JSON.stringify(set.days) })
    .where('tenant_id', '=', tenant)
    .execute()

export type Measured = {
  class: RetentionClass
  /** Rows; `is_estimate` says that they were not counted. Bytes are always an estimate. */
  n: number
  bytes: number
  is_estimate: boolean
  oldest: Date | null
  /** Whether a hold keeps some of it, and all of it. */
  held: boolean
  all_held: boolean
}
export const measure = async (tx: Tx, tenant: TenantId, classes: readonly RetentionClass[]): Promise<Measured[]> => {
  const { rows } = await sql<Measured>`
    select c.class, m.n, m.bytes, m.is_estimate, m.oldest,
      exists (select from legal_holds h where h.tenant_id = ${tenant} and covers(h, c.class)) as held,
      exists (select from legal_holds h where h.tenant_id = ${tenant} and covers_all(h, c.class)) as all_held
    from unnest(${[...classes]}::text[]) as c (class), measure_kept(c.class) as m`.execute(tx)
  return rows
}

/** Where the record begins, if some of it has gone. */
export const findCut = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('audit_purges')
    .select(['up_to', 'hash', 'kept_days', 'purged_at'])
    .where('tenant_id', '=', tenant)
    .orderBy('up_to', 'desc')
    .limit(1)
    .executeTakeFirst()

/** Until when nothing is purged, since the clock leapt or is not what `witness` says; undefined while it is trusted. */
export const checkClock = async (tx: Tx, witness: Date): Promise<Date | undefined> => {
  const { rows } = await sql<{ until: Date | null }>`
    select nullif(greatest(check_clock(${witness}), now()), now()) as until`.execute(tx)
  return rows[0]?.until ?? undefined
}
export const findDistrust = async (tx: Tx): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('retention_clock')
    .select('trusted_from')
    .where('trusted_from', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return row?.trusted_from
}
