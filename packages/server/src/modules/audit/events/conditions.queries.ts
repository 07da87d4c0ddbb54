import { type RawBuilder, sql } from 'kysely'
import { hasExactPrefix, hasPrefix } from '../../../db/page.ts'
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
  /** Members of the record that some kinds have; their words are among `terms` too, by which blocks are found. */
  operation?: string
  reason?: string
  username?: string
  /** What the kind, or an id or a name of actor or target, begins with. */
  q?: string
  /** What must stand in the record, each as it is written. */
  terms?: readonly string[]
}

export type Condition = RawBuilder<boolean>

export const allOf = (conditions: readonly Condition[]): Condition =>
  conditions.length > 0 ? sql<boolean>`(${sql.join(conditions, sql` and `)})` : sql<boolean>`true`

/** The window of time. */
export const within = ({ from, to }: Filter): Condition =>
  allOf([...(from ? [sql<boolean>`at >= ${from}`] : []), ...(to ? [sql<boolean>`at < ${to}`] : [])])

/** What has its place after one. */
export const behindSeq = ({ after_seq }: Filter): Condition[] =>
  after_seq === undefined ? [] : [sql<boolean>`seq > ${after_seq}`]

/**
 * What lies behind the head of the record was not given its place, whoever put it there. Nearly everything is before
 * it: written so that no index is asked for that.
 */
export const isPlaced = (tenant: TenantId): Condition =>
  sql<boolean>`seq + 0 <= (select seq from audit_heads where tenant_id = ${tenant})`

const equals = ['request_id', 'target_id', 'actor_id', 'source_ip', 'outcome'] as const
/** Columns that must have a value, what is usually rarest first. What succeeded is nearly everything, and has no index. */
export const columnsOf = (f: Filter) =>
  equals.flatMap((column) => {
    const value = f[column]
    return value === undefined || value === 'success' ? [] : [{ column, condition: isValue(column, value) }]
  })
const isValue = (column: string, value: string) => sql<boolean>`${sql.ref(column)} = ${value}`

export const isOneOf = (kinds: readonly string[]) => sql<boolean>`kind = any(${kinds}::text[])`

/** What a search by prefix looks into: each has an index, so what fits little is found by them. */
export const searched = [
  ['kind', hasExactPrefix],
  ['actor_id', hasExactPrefix],
  ['actor_name_key', hasPrefix],
  ['target_id', hasExactPrefix],
  ['target_name_key', hasPrefix],
] as const
export const begins = (q: string): Condition => {
  const any = sql.join(
    searched.map(([column, has]) => has(column, q)),
    sql` or `,
  )
  return sql<boolean>`(${any})`
}

/** What no index serves: it is looked for in what is found otherwise. */
export const othersOf = (f: Filter): Condition[] => [
  ...(f.outcome === 'success' ? [isValue('outcome', f.outcome)] : []),
  ...(f.origin === undefined ? [] : [says('{origin}', 'origin', f.origin)]),
  ...(f.actor_type === undefined ? [] : [says('{actor,type}', 'type', f.actor_type)]),
  ...(f.target_type === undefined ? [] : [says('{target,type}', 'type', f.target_type)]),
  ...(f.operation === undefined ? [] : [says('{operation}', 'operation', f.operation)]),
  ...(f.reason === undefined ? [] : [saysReason(f.reason)]),
  ...(f.username === undefined ? [] : [saysUsername(f.username)]),
  ...(f.terms ?? []).map((term) => sql<boolean>`record collate "C" ~* ${patternOf(term)}`),
]

/** All that is asked for but the window of time and the place. */
export const conditionsOf = (f: Filter): Condition[] => [
  ...columnsOf(f).map(({ condition }) => condition),
  ...(f.kinds ? [isOneOf(f.kinds)] : []),
  ...(f.q === undefined ? [] : [begins(f.q)]),
  ...othersOf(f),
]

/** A member of the record. That its text is there at all is asked first: it costs a tenth of taking it apart. */
const says = (path: string, name: string, value: string) =>
  sql<boolean>`(record like ${`%${literal(JSON.stringify({ [name]: value }).slice(1, -1))}%`} and record::jsonb #>> ${path} = ${value})`

/** Failed sign-ins call it `failure_reason`, which ends in the same letters. */
const saysReason = (value: string) =>
  sql<boolean>`(record like ${`%reason":${literal(JSON.stringify(value))}%`}
    and ${value} in (record::jsonb ->> 'reason', record::jsonb ->> 'failure_reason'))`
/** Also one of several that were told to wait. */
const saysUsername = (value: string) =>
  sql<boolean>`(record like '%"username%' and (lower(record::jsonb ->> 'username') = lower(${value})
    or coalesce(jsonb_exists(record::jsonb #> '{details,usernames}', ${value}), false)))`

/** For `like`. */
const literal = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&')
