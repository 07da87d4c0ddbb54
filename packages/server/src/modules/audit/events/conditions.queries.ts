import { type RawBuilder, sql } from 'kysely'
import { fits, hasExactPrefix, hasPrefix } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { patternOf } from '../../../kernel/words.ts'

/** What is asked for: an event fits when it fits all of it. */
export type Filter = {
  kinds?: readonly string[]
  actor_id?: string
  actor_type?: string
  target_id?: string
  target_type?: string
  source_ip?: string
  request_id?: string
  outcome?: 'success' | 'refused' | 'failed'
  origin?: string
  from?: Date
  to?: Date
  after_seq?: number
  /** What the kind, or an id or a name of actor or target, begins with. */
  q?: string
  /** What must stand in the record, each as it is written. */
  terms?: readonly string[]
}

type Condition = RawBuilder<boolean>

/** Something asked for that an index serves. */
export type Path = {
  condition: Condition
  /** Conditions that each have an index in the order of time, and together find the same; none for a search. */
  arms: readonly Condition[]
  /** The moments of what fits, few of each arm at most: as many as are there, if it fits few. */
  moments: RawBuilder<unknown>
}

export const allOf = (conditions: readonly Condition[]): Condition =>
  conditions.length > 0 ? sql<boolean>`(${sql.join(conditions, sql` and `)})` : sql<boolean>`true`

/** The window of time. */
export const within = ({ from, to }: Filter): Condition =>
  allOf([...(from ? [sql<boolean>`at >= ${from}`] : []), ...(to ? [sql<boolean>`at < ${to}`] : [])])

/** What has its place after one. */
export const behindSeq = ({ after_seq }: Filter): Condition[] =>
  after_seq === undefined ? [] : [sql<boolean>`seq > ${after_seq}`]

/** What an index serves, what is usually rarest first. What succeeded is nearly everything, and has none. */
export function pathsOf(tenant: TenantId, f: Filter): Path[] {
  const fitting = (column: string, condition: Condition) =>
    fits('at', sql`audit_log where tenant_id = ${tenant} and ${condition} and ${within(f)}`, [
      'tenant_id',
      column,
      'at',
    ])
  const union = (parts: readonly RawBuilder<unknown>[]) => sql.join(parts, sql` union all `)
  const equal = (['request_id', 'target_id', 'actor_id', 'source_ip', 'outcome'] as const).flatMap((column): Path[] => {
    const value = f[column]
    if (value === undefined || value === 'success') return []
    const condition = sql<boolean>`${sql.ref(column)} = ${value}`
    return [{ condition, arms: [condition], moments: fitting(column, condition) }]
  })
  const { kinds, q } = f
  const arms = (kinds ?? []).map((kind) => sql<boolean>`kind = ${kind}`)
  return [
    ...equal,
    ...(kinds ? [{ condition: isOneOf(kinds), arms, moments: union(arms.map((arm) => fitting('kind', arm))) }] : []),
    ...(q === undefined
      ? []
      : [{ condition: begins(q), arms: [], moments: union(searched.map(([c, has]) => fitting(c, has(c, q)))) }]),
  ]
}

/** What no index serves: it is looked for in what is found otherwise. */
export function othersOf(f: Filter): Condition[] {
  return [
    ...(f.outcome === 'success' ? [sql<boolean>`outcome = ${f.outcome}`] : []),
    ...(f.origin === undefined ? [] : [says('{origin}', 'origin', f.origin)]),
    ...(f.actor_type === undefined ? [] : [says('{actor,type}', 'type', f.actor_type)]),
    ...(f.target_type === undefined ? [] : [says('{target,type}', 'type', f.target_type)]),
    ...(f.terms ?? []).map((term) => sql<boolean>`record collate "C" ~* ${patternOf(term)}`),
  ]
}

const isOneOf = (kinds: readonly string[]) => sql<boolean>`kind = any(${kinds}::text[])`

/** What a search by prefix looks into: each has an index, so what fits little is found by them. */
const searched = [
  ['kind', hasExactPrefix],
  ['actor_id', hasExactPrefix],
  ['actor_name_key', hasPrefix],
  ['target_id', hasExactPrefix],
  ['target_name_key', hasPrefix],
] as const
const begins = (q: string) => {
  const any = sql.join(
    searched.map(([column, has]) => has(column, q)),
    sql` or `,
  )
  return sql<boolean>`(${any})`
}

/** A member of the record. That its text is there at all is asked first: it costs a tenth of taking it apart. */
const says = (path: string, name: string, value: string) =>
  sql<boolean>`(record like ${`%${literal(JSON.stringify({ [name]: value }).slice(1, -1))}%`} and record::jsonb #>> ${path} = ${value})`

/** For `like`. */
const literal = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&')
