import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { between, type Range, rangesWith, selectEventsAt } from './blocks.queries.ts'
import { allOf, type Condition, type EventFilter, eventConditions, isPlaced, within } from './conditions.queries.ts'
import { type EventFacetRow, exactFacets, type FacetName, sampledFacets } from './facets.queries.ts'
import { pathsOf, rarestOf, windowPath } from './paths.queries.ts'

/** Number of events sampled for an estimate, over all buckets. */
const sampled = 8_000
/** Maximum number of candidate events that are counted exactly. */
const lookedThrough = 16 * 1024

const everywhere: readonly Range[] = [[1, Number.MAX_SAFE_INTEGER]]

type Window = EventFilter & { from: Date; to: Date }
type Counted = { counts: number[]; estimated: boolean; facets: EventFacetRow[] }
/** `facets`: additional counts, made from the same events. */
type Asked = { starts: readonly Date[]; facets: readonly FacetName[] }

/** Counts the events in each bucket. Buckets begin at `starts`, in ascending order; the last ends with the window. */
export async function countEvents(tx: Tx, tenant: TenantId, f: Window, { starts, facets }: Asked): Promise<Counted> {
  const conditions = [...eventConditions(f), within(f), isPlaced(tenant)]
  const counted = async (events: RawBuilder<unknown>): Promise<Counted> => ({
    ...(await exactly(tx, events, conditions, starts)),
    facets: facets.length > 0 ? await exactFacets(tx, events, { asked: conditions, starts, facets }) : [],
  })
  const rare = await rarestOf(tx, [...pathsOf(tenant, f), windowPath(tenant, f)])
  if (rare) return counted(rare.events)
  const places = f.terms && (await rangesWith(tx, tenant, f))
  if (places && sizeOf(places) <= lookedThrough) return counted(selectEventsAt(tenant, places))
  return estimate(tx, tenant, f, { starts, facets }, places)
}

async function exactly(
  tx: Tx,
  events: RawBuilder<unknown>,
  conditions: readonly Condition[],
  starts: readonly Date[],
): Promise<Omit<Counted, 'facets'>> {
  const { rows } = await sql<{ bucket: number; n: number }>`
    select width_bucket(at, ${starts}::timestamptz[]) as bucket, count(*) as n from (${events}) as events
    where ${allOf(conditions)} group by 1`.execute(tx)
  const found = new Map(rows.map((row) => [row.bucket, row.n]))
  return { counts: starts.map((_, i) => found.get(i + 1) ?? 0), estimated: false }
}

/**
 * Estimates the counts. Sequence numbers grow with time, so the numbers at the bounds of a bucket give its size. A
 * sample of the candidates gives the share that matches.
 */
async function estimate(
  tx: Tx,
  tenant: TenantId,
  f: Window,
  { starts, facets: facetNames }: Asked,
  places: readonly Range[] | undefined,
): Promise<Counted> {
  const bounds = await placesAt(tx, tenant, [...starts, f.to])
  const buckets = starts.map((_, i) => between(places ?? everywhere, bounds[i] ?? 0, (bounds[i + 1] ?? 0) - 1))
  const sizes = buckets.map(sizeOf)
  const conditions = eventConditions(f)
  if (conditions.length === 0 && facetNames.length === 0) return { counts: sizes, estimated: true, facets: [] }
  const samples = buckets.map((ranges) => spread(ranges, Math.floor(sampled / starts.length)))
  const weights = sizes.map((size, i) => size / (samples[i]?.length || 1))
  const bounding = bounds.slice(0, -1)
  const fitting = allOf([within(f), ...conditions])
  const facets =
    facetNames.length > 0
      ? await sampledFacets(tx, tenant, { seqs: samples.flat(), bounding, fitting, facets: facetNames, weights })
      : []
  if (conditions.length === 0) return { counts: sizes, estimated: true, facets }
  const { rows } = await sql<{ bucket: number; n: number }>`
    select width_bucket(seq, ${bounding}::bigint[]) as bucket, count(*) as n from audit_log as e
    where tenant_id = ${tenant} and seq = any(${samples.flat()}::bigint[]) and ${fitting}
    group by 1`.execute(tx)
  const hits = new Map(rows.map((row) => [row.bucket, row.n]))
  const counts = weights.map((weight, i) => Math.round((hits.get(i + 1) ?? 0) * weight))
  return { counts, estimated: true, facets }
}

/** Sequence number of the first event at or after each time. If there is none, the number after the last event. */
async function placesAt(tx: Tx, tenant: TenantId, moments: readonly Date[]): Promise<number[]> {
  const { rows } = await sql<{ seq: number }>`
    select coalesce(
      (select seq from audit_log where tenant_id = ${tenant} and at >= m.at and ${isPlaced(tenant)}
        order by at, event_id limit 1),
      (select seq + 1 from audit_heads where tenant_id = ${tenant}), 1) as seq
    from unnest(${moments}::timestamptz[]) with ordinality as m (at, i) order by m.i`.execute(tx)
  // Clock errors must not reverse the order.
  let highest = 0
  return rows.map(({ seq }) => (highest = Math.max(highest, seq)))
}

const sizeOf = (ranges: readonly Range[]): number => ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0)

/**
 * Picks at most `most` sequence numbers, one from each equal part and at a pseudo-random offset. A fixed step would hit
 * or miss periodic events.
 */
function spread(ranges: readonly Range[], most: number): number[] {
  const size = sizeOf(ranges)
  const count = Math.min(size, most)
  const offset = ranges[0]?.[0] ?? 0
  const found = Array.from({ length: count }, (_, i) => Math.floor(((i + noise(offset + i)) * size) / count))
  return [...new Set(placesOf(ranges, found))]
}
/** Maps positions within the ranges, in ascending order, to sequence numbers. */
function placesOf(ranges: readonly Range[], numbers: readonly number[]): number[] {
  const found: number[] = []
  let skipped = 0
  for (const [first, last] of ranges) {
    const length = last - first + 1
    for (let n = numbers[found.length]; n !== undefined && n < skipped + length; n = numbers[found.length])
      found.push(first + n - skipped)
    skipped += length
  }
  return found
}
/** Pseudo-random number from 0 to 1, the same for the same input, so that a repeated query gets the same answer. */
function noise(n: number): number {
  const x = Math.sin(n) * 43_758.5453
  return x - Math.floor(x)
}
