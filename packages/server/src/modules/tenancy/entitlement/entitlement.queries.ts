import { sql } from 'kysely'
import { databaseLocks } from '../../../db/advisory-locks.ts'
import type { Tx } from '../../../db/database.ts'
import type { StoredClaims } from '../../../db/tables/tenancy.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/**
 * Returns the limits, the plan and the license of an existing tenant in one query. The license is null if there is
 * none.
 */
export const readTerms = async (tx: Tx, tenant: TenantId) => {
  const { rows } = await sql<{
    limits: Record<string, number>
    plan: string | null
    plan_limits: Record<string, number> | null
    plan_features: string[] | null
    has_license: boolean
    claims: StoredClaims | null
    seen_at: Date
  }>`
    select t.limits, p.name as plan, p.limits as plan_limits, p.features as plan_features,
      l.singleton is not null as has_license, l.claims, d.seen_at
    from tenants t cross join deployment d
      left join plans p on p.plan_id = t.plan_id
      left join licenses l on l.singleton
    where t.tenant_id = ${tenant} and t.deleted_at is null`.execute(tx)
  return rows[0]
}

/**
 * Locks a counter until commit, so that no other caller adds to it. Moves are summed up after the lock, by `movesOf`.
 */
export const lockCounter = async (tx: Tx, tenant: TenantId, metric: string): Promise<number> => {
  const row = await tx
    .selectFrom('entitlement_counters')
    .select('used')
    .where('tenant_id', '=', tenant)
    .where('metric', '=', metric)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
  return row.used
}
export const movesOf = async (tx: Tx, tenant: TenantId, metric: string): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select coalesce(sum(delta), 0) as n from entitlement_moves
    where tenant_id = ${tenant} and metric = ${metric}`.execute(tx)
  return rows[0]?.n ?? 0
}

/** Returns the used amount of each counted metric. */
export const usedOf = async (tx: Tx, tenant: TenantId): Promise<Map<string, number>> => {
  const { rows } = await sql<{ metric: string; used: number }>`
    select c.metric, c.used + coalesce(m.n, 0) as used
    from entitlement_counters c left join (
      select metric, sum(delta) as n from entitlement_moves where tenant_id = ${tenant} group by metric) m
      on m.metric = c.metric
    where c.tenant_id = ${tenant}`.execute(tx)
  return new Map(rows.map((r) => [r.metric, r.used]))
}

/** Across tenants: the used amount of each metric, of all tenants together. */
export const totalsOf = async (tx: Tx): Promise<Record<string, number>> => {
  const { rows } = await sql<{ metric: string; used: number }>`
    select c.metric, sum(c.used) + coalesce((select sum(m.delta) from entitlement_moves m where m.metric = c.metric), 0) as used
    from entitlement_counters c group by c.metric order by c.metric`.execute(tx)
  return Object.fromEntries(rows.map((r) => [r.metric, r.used]))
}

/** Across tenants: tenants whose counters have moves. */
export const tenantsWithMoves = async (tx: Tx): Promise<TenantId[]> => {
  const { rows } = await sql<{ tenant_id: TenantId }>`
    select tenant_id from tenants t
    where exists (select from entitlement_moves m where m.tenant_id = t.tenant_id) order by 1`.execute(tx)
  return rows.map((r) => r.tenant_id)
}

/** Across tenants: tenants that have a limit, or an alert of one. */
export const tenantsWithLimits = async (tx: Tx): Promise<TenantId[]> => {
  const { rows } = await sql<{ tenant_id: TenantId }>`
    select tenant_id from tenants t
    where deleted_at is null and (limits <> '{}' or plan_id is not null
      or exists (select from licenses l where l.claims -> 'limits' <> '{}')
      or exists (select from entitlement_alerts a where a.tenant_id = t.tenant_id))
    order by 1`.execute(tx)
  return rows.map((r) => r.tenant_id)
}

export const lockCounters = async (tx: Tx, tenant: TenantId): Promise<Map<string, number>> => {
  const rows = await tx
    .selectFrom('entitlement_counters')
    .select(['metric', 'used'])
    .where('tenant_id', '=', tenant)
    .orderBy('metric')
    .forNoKeyUpdate()
    .execute()
  return new Map(rows.map((r) => [r.metric, r.used]))
}

/** Deletes the oldest moves of locked counters, and returns them in order. */
export const takeMoves = async (tx: Tx, tenant: TenantId, limit: number) => {
  const { rows } = await sql<{ metric: string; delta: number; hour: Date }>`
    with gone as (
      delete from entitlement_moves where tenant_id = ${tenant} and (metric, move_id) in (
        select metric, move_id from entitlement_moves where tenant_id = ${tenant} order by move_id limit ${limit})
      returning metric, move_id, delta, date_trunc('hour', at, 'utc') as hour)
    select metric, delta, hour from gone order by move_id`.execute(tx)
  return rows
}

/** Requires the locks of the counters. */
export const writeCounters = (tx: Tx, tenant: TenantId, used: ReadonlyMap<string, number>) =>
  sql`
    update entitlement_counters c set used = w.used
    from unnest(${[...used.keys()]}::text[], ${[...used.values()]}::bigint[]) as w (metric, used)
    where c.tenant_id = ${tenant} and c.metric = w.metric`.execute(tx)

export type Level = { metric: string; hour: Date; peak: number; used: number }
export const writeLevels = (tx: Tx, tenant: TenantId, levels: readonly Level[]) =>
  sql`
    insert into usage_levels (tenant_id, metric, hour, peak, used)
    select ${tenant}::uuid, * from unnest(${levels.map((l) => l.metric)}::text[], ${levels.map((l) => l.hour)}::timestamptz[],
      ${levels.map((l) => l.peak)}::bigint[], ${levels.map((l) => l.used)}::bigint[]) order by 1, 2, 3
    on conflict (tenant_id, metric, hour)
      do update set peak = greatest(usage_levels.peak, excluded.peak), used = excluded.used`.execute(tx)

/** Returns the counters that differ from the rows, in one snapshot. */
export const driftOf = async (tx: Tx, tenant: TenantId) => {
  const { rows } = await sql<{ metric: string; counted: number; found: number }>`
    select c.metric, f.found, c.used + coalesce((select sum(m.delta) from entitlement_moves m
      where m.tenant_id = ${tenant} and m.metric = c.metric), 0) as counted
    from entitlement_counters c join entitled_now(${tenant}) f on f.metric = c.metric
    where c.tenant_id = ${tenant} order by c.metric`.execute(tx)
  return rows.filter(({ counted, found }) => counted !== found)
}
export const insertMove = (tx: Tx, tenant: TenantId, metric: string, delta: number) =>
  tx.insertInto('entitlement_moves').values({ tenant_id: tenant, metric, delta }).execute()

export const alertsOf = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('entitlement_alerts').select(['metric', 'level', 'since']).where('tenant_id', '=', tenant).execute()
type AlertRow = Awaited<ReturnType<typeof alertsOf>>[number]
export const putAlert = (tx: Tx, tenant: TenantId, { metric, level, since }: AlertRow) =>
  tx
    .insertInto('entitlement_alerts')
    .values({ tenant_id: tenant, metric, level, since })
    .onConflict((c) => c.columns(['tenant_id', 'metric']).doUpdateSet({ level, since }))
    .execute()
export const deleteAlert = (tx: Tx, tenant: TenantId, metric: string) =>
  tx.deleteFrom('entitlement_alerts').where('tenant_id', '=', tenant).where('metric', '=', metric).execute()

/** Returns the bytes transferred since a time, over all gateways. */
export const carriedSince = async (tx: Tx, tenant: TenantId, since: Date): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select coalesce(sum(rx_bytes::numeric + tx_bytes), 0) as n from usage_traffic
    where tenant_id = ${tenant} and hour >= ${since}`.execute(tx)
  return rows[0]?.n ?? 0
}

/** Serializes callers that count tenants, until commit. Returns the count. */
export async function holdTenantCount(tx: Tx): Promise<number> {
  await sql`select pg_advisory_xact_lock(${sql.lit(databaseLocks.newTenants)})`.execute(tx)
  const { rows } = await sql<{ n: number }>`select tenant_count() as n`.execute(tx)
  return rows[0]?.n ?? 0
}
