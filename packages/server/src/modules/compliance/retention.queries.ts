import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Periods set by the tenant. A missing class has the period of the deployment. */
export type SetDays = Selectable<Tables['retention_settings']>['days']
export type StoredRetention = Pick<Selectable<Tables['retention_settings']>, 'days' | 'settles_at'>

const settingsOf = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('retention_settings').select(['days', 'settles_at']).where('tenant_id', '=', tenant)

export const readRetention = (tx: Tx, tenant: TenantId): Promise<StoredRetention | undefined> =>
  settingsOf(tx, tenant).executeTakeFirst()

/** Locks the row until commit, so that a concurrent change sees this one. */
export const lockRetention = async (tx: Tx, tenant: TenantId, at: Date): Promise<StoredRetention> => {
  await tx
    .insertInto('retention_settings')
    .values({ tenant_id: tenant, days: '{}', updated_at: at })
    .onConflict((c) => c.column('tenant_id').doNothing())
    .execute()
  return settingsOf(tx, tenant).forUpdate().executeTakeFirstOrThrow()
}

/** The database itself computes when shorter periods take effect. */
export const writeRetention = async (tx: Tx, tenant: TenantId, days: SetDays, at: Date): Promise<Date> =>
  (
    await tx
      .updateTable('retention_settings')
      .set({ days: JSON.stringify(days), updated_at: at })
      .where('tenant_id', '=', tenant)
      .returning('settles_at')
      .executeTakeFirstOrThrow()
  ).settles_at

export type Bounds = Pick<Selectable<Tables['retention_periods']>, 'class' | 'most'>
/** Upper limits for the tenant's periods. */
export const readBounds = (tx: Tx): Promise<Bounds[]> =>
  tx.selectFrom('retention_periods').select(['class', 'most']).execute()

export type Period = Pick<Selectable<Tables['retention_periods']>, 'class' | 'least' | 'most' | 'settles_at'> & {
  /** Effective period with these settings; null: kept forever. */
  days: number | null
  /** Number of rows; `is_estimate`: not counted exactly. Bytes are always an estimate. */
  n: number
  bytes: number
  is_estimate: boolean
  oldest: Date | null
  /** A legal hold keeps some of it (`held`) or all of it (`all_held`). */
  held: boolean
  all_held: boolean
}
export const measure = async (tx: Tx, tenant: TenantId, set: SetDays): Promise<Period[]> => {
  const { rows } = await sql<Period>`
    select p.class, p.least, p.most, p.settles_at, days_by(${JSON.stringify(set)}::jsonb, p.class) as days,
      m.n, m.bytes, m.is_estimate, m.oldest,
      exists (select from legal_holds h where h.tenant_id = ${tenant} and covers(h, p.class)) as held,
      exists (select from legal_holds h where h.tenant_id = ${tenant} and covers_all(h, p.class)) as all_held
    from retention_periods p, measure_kept(p.class) as m`.execute(tx)
  return rows
}

/**
 * Time until which nothing is purged, because the clock jumped or differs from `witness`. Undefined while the clock is
 * trusted.
 */
export const checkClock = async (tx: Tx, replicaTime: Date): Promise<Date | undefined> => {
  const { rows } = await sql<{ until: Date | null }>`
    select nullif(greatest(check_clock(${replicaTime}), now()), now()) as until`.execute(tx)
  return rows[0]?.until ?? undefined
}
export const findDistrust = async (tx: Tx): Promise<Date | undefined> =>
  (
    await tx
      .selectFrom('retention_clock')
      .select('trusted_from')
      .where('trusted_from', '>', sql<Date>`now()`)
      .executeTakeFirst()
  )?.trusted_from
