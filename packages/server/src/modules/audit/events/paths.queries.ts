import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { few } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import {
  allOf,
  begins,
  behindSeq,
  type Condition,
  type EventFilter,
  isOneOf,
  requiredColumnsOf,
  searched,
  within,
} from './conditions.queries.ts'

type What = RawBuilder<unknown>
/** A condition with an index. */
type Path = {
  condition: Condition
  /**
   * Conditions that together match the same events, each with an index in time order. Empty if this path cannot be
   * walked.
   */
  arms: readonly Condition[]
  /** At most `few` + 1 rows per index, read without visiting the table. Shows how rare the condition is. */
  counted: What
  /** All matches within the window, at most `few` + 1 per index. */
  events: What
}

/** Up to this number of kinds, each kind's index is walked. With more, the walk checks the kind of every event. */
const walkedKinds = 10

/** Paths of the filter, usually the rarest first. */
export function pathsOf(tenant: TenantId, f: EventFilter): Path[] {
  const path = (condition: Condition, arms: readonly Condition[], scan: (what: What) => What): Path => ({
    condition,
    arms,
    counted: scan(sql`at`),
    events: scan(sql`*`),
  })
  const fitting = (what: What, column: string, conditions: readonly Condition[]) =>
    inIndexOrder(tenant, what, [...conditions, within(f)], [column, 'at'])
  const { kinds, q } = f
  return [
    ...requiredColumnsOf(f).map(({ column, condition }) =>
      path(condition, [condition], (what) => fitting(what, column, [condition])),
    ),
    ...(kinds
      ? [
          path(isOneOf(kinds), kinds.length > walkedKinds ? [] : kinds.map(isKind), (what) =>
            ofKinds(tenant, kinds, f, what),
          ),
        ]
      : []),
    ...(q === undefined ? [] : [{ condition: begins(q), arms: [], ...beginning(q, fitting) }]),
  ]
}

/** Events within the time window. For lists ordered by sequence number. */
export function windowPath(tenant: TenantId, f: EventFilter): Path {
  const scan = (what: What) => inIndexOrder(tenant, what, [within(f)], ['at'])
  return { condition: within(f), arms: [], counted: scan(sql`at`), events: scan(sql`*`) }
}

/** Events after the sequence number. For lists ordered by time. */
export function placePath(tenant: TenantId, f: EventFilter): Path {
  const scan = (what: What) => inIndexOrder(tenant, what, behindSeq(f), ['seq'])
  return { condition: allOf(behindSeq(f)), arms: [], counted: scan(sql`seq`), events: scan(sql`*`) }
}

/** Ordered as the index is, so that the planner reads only this index, regardless of its estimates. */
const inIndexOrder = (tenant: TenantId, what: What, conditions: readonly Condition[], columns: readonly string[]) =>
  sql`(select ${what} from audit_log where tenant_id = ${tenant} and ${allOf(conditions)}
    order by ${sql.join(['tenant_id', ...columns].map((c) => sql.ref(c)))} limit ${few + 1})`

const isKind = (kind: string) => sql<boolean>`kind = ${kind}`
/** The planner plans one scan for any number of kinds. */
const ofKinds = (tenant: TenantId, kinds: readonly string[], f: EventFilter, what: What) =>
  sql`(select e.* from unnest(${kinds}::text[]) as asked (name), lateral ${inIndexOrder(
    tenant,
    what,
    [sql<boolean>`kind = asked.name`, within(f)],
    ['kind', 'at'],
  )} as e limit ${few + 1})`

/** An event that matches in several columns is returned only for the first of them. */
function beginning(q: string, fitting: (what: What, column: string, conditions: readonly Condition[]) => What) {
  const all = searched.map(([column, has]) => ({ column, condition: has(column, q) }))
  const arms = (what: What, before: (i: number) => readonly Condition[]) =>
    sql.join(
      all.map(({ column, condition }, i) => fitting(what, column, [condition, ...before(i)])),
      sql` union all `,
    )
  const isNot = ({ condition }: (typeof all)[number]) => sql<boolean>`${condition} is not true`
  return { counted: arms(sql`at`, () => []), events: arms(sql`*`, (i) => all.slice(0, i).map(isNot)) }
}

/** Returns the rarest condition with an index, if it matches few events. */
export async function rarestOf(tx: Tx, paths: readonly Path[]): Promise<Path | undefined> {
  if (paths.length === 0) return undefined
  const counts = paths.map(({ counted }) => sql`(select count(*) from (${counted}) as counted)`)
  const { rows } = await sql<{ counts: number[] }>`select array[${sql.join(counts)}]::int[] as counts`.execute(tx)
  const found = rows[0]?.counts ?? []
  const least = Math.min(...found)
  return least <= few ? paths[found.indexOf(least)] : undefined
}
