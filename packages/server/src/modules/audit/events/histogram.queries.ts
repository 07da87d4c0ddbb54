import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { few } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { allOf, type Filter, othersOf, pathsOf, within } from './conditions.queries.ts'
import { along, rareEvents, rarestOf } from './events.queries.ts'

/** How many events an estimate looks at, over all buckets. */
const sampled = 8_000

type Counted = { counts: number[]; estimated: boolean }

/** How many events lie in each bucket, which begin at `starts`, in time, up to the end of the window. */
export async function countEvents(
  tx: Tx,
  tenant: TenantId,
  f: Filter & { from: Date; to: Date },
  starts: readonly Date[],
): Promise<Counted> {
  const paths = pathsOf(tenant, f)
  const asked = [...paths.map((path) => path.condition), ...othersOf(f)]
  const bucket = sql`width_bucket(at, ${starts}::timestamptz[])`
  const rare = await rarestOf(tx, paths)
  if (rare) return exactly(tx, rareEvents(tenant, rare, f), { asked, bucket, starts })
  const all = along(tenant, [sql<boolean>`true`], [within(f)], {
    order: { by: 'timestamp', descending: false },
    most: few + 1,
  })
  const { rows } = await sql<{ n: number }>`select count(*) as n from (${all}) as events`.execute(tx)
  if ((rows[0]?.n ?? 0) <= few) return exactly(tx, all, { asked, bucket, starts })
  return estimate(tx, tenant, f, { asked, starts })
}

type Question = { asked: readonly RawBuilder<boolean>[]; starts: readonly Date[] }

async function exactly(
  tx: Tx,
  events: RawBuilder<unknown>,
  { asked, bucket, starts }: Question & { bucket: RawBuilder<unknown> },
): Promise<Counted> {
  const { rows } = await sql<{ bucket: number; n: number }>`
    select ${bucket} as bucket, count(*) as n from (${events}) as events where ${allOf(asked)} group by 1`.execute(tx)
  const found = new Map(rows.map((row) => [row.bucket, row.n]))
  return { counts: starts.map((_, i) => found.get(i + 1) ?? 0), estimated: false }
}

/** Places grow with time, so the places at the bounds of a bucket say how many lie in it; a sample says which share fits. */
async function estimate(
  tx: Tx,
  tenant: TenantId,
  f: Filter & { from: Date; to: Date },
  { asked, starts }: Question,
): Promise<Counted> {
  const bounds = await placesAt(tx, tenant, [...starts, f.to])
  const sizes = starts.map((_, i) => Math.max(0, (bounds[i + 1] ?? 0) - (bounds[i] ?? 0)))
  if (asked.length === 0) return { counts: sizes, estimated: true }
  const samples = sizes.map((size, i) => spread(bounds[i] ?? 0, size, Math.floor(sampled / starts.length)))
  const { rows } = await sql<{ bucket: number; n: number }>`
    select width_bucket(seq, ${bounds.slice(0, -1)}::bigint[]) as bucket, count(*) as n from audit_log as e
    where tenant_id = ${tenant} and seq = any(${samples.flat()}::bigint[]) and ${within(f)} and ${allOf(asked)}
    group by 1`.execute(tx)
  const hits = new Map(rows.map((row) => [row.bucket, row.n]))
  const counts = sizes.map((size, i) => Math.round(((hits.get(i + 1) ?? 0) * size) / (samples[i]?.length || 1)))
  return { counts, estimated: true }
}

/** The places of the first events at or after these moments; of none, the one after the last. */
async function placesAt(tx: Tx, tenant: TenantId, moments: readonly Date[]): Promise<number[]> {
  const { rows } = await sql<{ seq: number }>`
    select coalesce(
      (select seq from audit_log where tenant_id = ${tenant} and at >= m.at order by at, event_id limit 1),
      (select seq + 1 from audit_heads where tenant_id = ${tenant}), 1) as seq
    from unnest(${moments}::timestamptz[]) with ordinality as m (at, i) order by m.i`.execute(tx)
  // A clock that was off must not turn the order around.
  let highest = 0
  return rows.map(({ seq }) => (highest = Math.max(highest, seq)))
}

/** At most so many of the places of a bucket, as far from each other. */
function spread(first: number, size: number, most: number): number[] {
  const count = Math.min(size, most)
  return Array.from({ length: count }, (_, i) => first + Math.floor((i * size) / count))
}
