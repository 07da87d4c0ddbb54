import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { allOf, type Condition } from './conditions.queries.ts'

export type FacetName = 'kind' | 'actor' | 'origin' | 'outcome'
/** Number of events with a value in a bucket (from 1). `name`: name of the actor in the newest of them. */
export type EventFacetRow = { facet: FacetName; value: string; bucket: number; n: number; name: string | null }

/** Columns, except for the origin, which only the JSON of the record has. */
const values: Record<FacetName, RawBuilder<unknown>> = {
  kind: sql`kind`,
  actor: sql`actor_id`,
  origin: sql`record::jsonb ->> 'origin'`,
  outcome: sql`outcome`,
}
const pairsOf = (facets: readonly FacetName[]) => {
  const names = facets.map((f) => (f === 'actor' ? sql`record::jsonb #>> '{actor,name}'` : sql`null::text`))
  return sql`unnest(${facets}::text[], array[${sql.join(facets.map((f) => values[f]))}]::text[],
    array[${sql.join(names)}]::text[]) as f (facet, value, name)`
}
const newestName = sql`(array_agg(f.name order by at desc) filter (where f.name is not null))[1] as name`

/** Counts exactly, over all given events. */
export const exactFacets = async (
  tx: Tx,
  events: RawBuilder<unknown>,
  { asked, starts, facets }: { asked: readonly Condition[]; starts: readonly Date[]; facets: readonly FacetName[] },
): Promise<EventFacetRow[]> => {
  const { rows } = await sql<EventFacetRow>`
    select f.facet, f.value, width_bucket(at, ${starts}::timestamptz[]) as bucket, count(*) as n, ${newestName}
    from (${events}) as events cross join lateral ${pairsOf(facets)}
    where ${allOf(asked)} and f.value is not null group by 1, 2, 3`.execute(tx)
  return rows
}

/** Counts by a sample: each event is multiplied by the weight of its bucket. */
export const sampledFacets = async (
  tx: Tx,
  tenant: TenantId,
  {
    seqs,
    bounding,
    fitting,
    facets,
    weights,
  }: {
    seqs: readonly number[]
    bounding: readonly number[]
    fitting: Condition
    facets: readonly FacetName[]
    weights: readonly number[]
  },
): Promise<EventFacetRow[]> => {
  const { rows } = await sql<EventFacetRow>`
    select f.facet, f.value, width_bucket(seq, ${bounding}::bigint[]) as bucket, count(*) as n, ${newestName}
    from audit_log as e cross join lateral ${pairsOf(facets)}
    where tenant_id = ${tenant} and seq = any(${seqs}::bigint[]) and ${fitting} and f.value is not null
    group by 1, 2, 3`.execute(tx)
  return rows.map((row) => ({ ...row, n: row.n * (weights[row.bucket - 1] ?? 1) }))
}
