import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { few } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import {
  allOf,
  begins,
  behindSeq,
  type Condition,
  columnsOf,
  type Filter,
  isOneOf,
  searched,
  within,
} from './conditions.queries.ts'

type What = RawBuilder<unknown>
/** Something asked for that an index serves. */
type Path = {
  condition: Condition
  /** Conditions that each have an index in the order of time, and together find the same; none where nobody walks it. */
  arms: readonly Condition[]
  /** As many rows as fit it, few and one of each index at most, without a look at the log itself. */
  counted: What
  /** All that fits it within the window, if that is few. */
  events: What
}

/** So many kinds are walked along the index of each; of more every event that is walked is asked for its kind. */
const walkedKinds = 10

/** What usually is rarest comes first. */
export function pathsOf(tenant: TenantId, f: Filter): Path[] {
  const path = (condition: Condition, arms: readonly Condition[], scan: (what: What) => What): Path => ({
    ...{ condition, arms, counted: scan(sql`at`), events: scan(sql`*`) },
  })
  const fitting = (what: What, column: string, conditions: readonly Condition[]) =>
    inIndexOrder(tenant, what, [...conditions, within(f)], [column, 'at'])
  const { kinds, q } = f
  return [
    ...columnsOf(f).map(({ column, condition }) =>
      path(condition, [condition], (what) => fitting(what, column, [condition])),
    ),
    ...(kinds
      ? [
          path(isOneOf(kinds), kinds.length > walkedKinds ? [] : kinds.map(isKind), (what) =>
            ofKinds(tenant, kinds, f, what),
          ),
        ]
      : []),
    ...(q === undefined ? [] : [{ ...{ condition: begins(q), arms: [] }, ...beginning(q, fitting) }]),
  ]
}

/** What lies within the window, for whoever asks in the order of places. */
export function windowPath(tenant: TenantId, f: Filter): Path {
  const scan = (what: What) => inIndexOrder(tenant, what, [within(f)], ['at'])
  return { condition: within(f), arms: [], counted: scan(sql`at`), events: scan(sql`*`) }
}

/** What has its place after one, for whoever asks in the order of time. */
export function placePath(tenant: TenantId, f: Filter): Path {
  const scan = (what: What) => inIndexOrder(tenant, what, behindSeq(f), ['seq'])
  return { condition: allOf(behindSeq(f)), arms: [], counted: scan(sql`seq`), events: scan(sql`*`) }
}

/** Ordered as the index is, so that nothing else is read, whatever the planner thinks of the conditions. */
const inIndexOrder = (tenant: TenantId, what: What, conditions: readonly Condition[], columns: readonly string[]) =>
  sql`(select ${what} from audit_log where tenant_id = ${tenant} and ${allOf(conditions)}
    order by ${sql.join(['tenant_id', ...columns].map((c) => sql.ref(c)))} limit ${few + 1})`

const isKind = (kind: string) => sql<boolean>`kind = ${kind}`
/** However many kinds, one scan is planned. */
const ofKinds = (tenant: TenantId, kinds: readonly string[], f: Filter, what: What) =>
  sql`(select e.* from unnest(${kinds}::text[]) as asked (name), lateral ${inIndexOrder(
    tenant,
    what,
    [sql<boolean>`kind = asked.name`, within(f)],
    ['kind', 'at'],
  )} as e limit ${few + 1})`

/** What begins so in several columns is found in the first of them. */
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

/** Of what an index serves the rarest, where it fits few. */
export async function rarestOf(tx: Tx, paths: readonly Path[]): Promise<Path | undefined> {
  if (paths.length === 0) return undefined
  const counts = paths.map(({ counted }) => sql`(select count(*) from (${counted}) as counted)`)
  const { rows } = await sql<{ counts: number[] }>`select array[${sql.join(counts)}]::int[] as counts`.execute(tx)
  const found = rows[0]?.counts ?? []
  const least = Math.min(...found)
  return least <= few ? paths[found.indexOf(least)] : undefined
}
