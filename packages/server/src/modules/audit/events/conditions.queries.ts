import { type RawBuilder, sql } from 'kysely'
import { hasExactPrefix, hasPrefix, type ListPlace } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { patternOf } from '../words/words.ts'

/** Search filter. An event matches if it meets all conditions. */
export type EventFilter = {
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
  /** Members that only some kinds have. Their words are also in `terms`, which select the blocks. */
  operation?: string
  reason?: string
  username?: string
  /** Prefix of the kind, or of the ID or name of actor or target. */
  q?: string
  /**
   * Texts that the record must contain: as written except for the case of ASCII letters, and with whole words at both
   * ends.
   */
  terms?: readonly string[]
}

export type Condition = RawBuilder<boolean>

export const allOf = (conditions: readonly Condition[]): Condition =>
  conditions.length > 0 ? sql<boolean>`(${sql.join(conditions, sql` and `)})` : sql<boolean>`true`

/** The time window. */
export const within = ({ from, to }: EventFilter): Condition =>
  allOf([...(from ? [sql<boolean>`at >= ${from}`] : []), ...(to ? [sql<boolean>`at < ${to}`] : [])])

/** Events after a sequence number. */
export const behindSeq = ({ after_seq }: EventFilter): Condition[] =>
  after_seq === undefined ? [] : [sql<boolean>`seq > ${after_seq}`]

/**
 * Excludes rows past the head: they have no assigned sequence number, no matter how they were inserted. Nearly all rows
 * match, so `seq + 0` keeps the planner from using an index for this.
 */
export const isPlaced = (tenant: TenantId): Condition =>
  sql<boolean>`seq + 0 <= (select seq from audit_heads where tenant_id = ${tenant})`

const equals = ['request_id', 'target_id', 'actor_id', 'source_ip', 'outcome'] as const
/**
 * Columns with a required value, usually the rarest first. `success` has no index, because nearly all events have it.
 */
export const requiredColumnsOf = (f: EventFilter) =>
  equals.flatMap((column) => {
    const value = f[column]
    return value === undefined || value === 'success' ? [] : [{ column, condition: isValue(column, value) }]
  })
const isValue = (column: string, value: string) => sql<boolean>`${sql.ref(column)} = ${value}`

export const isOneOf = (kinds: readonly string[]) => sql<boolean>`kind = any(${kinds}::text[])`

/** Columns of a prefix search. Each has an index, so rare values are found quickly. */
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

/** Conditions without an index. They filter the events that the other conditions find. */
export const othersOf = (f: EventFilter): Condition[] => [
  ...(f.outcome === 'success' ? [isValue('outcome', f.outcome)] : []),
  ...(f.origin === undefined ? [] : [says('{origin}', 'origin', f.origin)]),
  ...(f.actor_type === undefined ? [] : [says('{actor,type}', 'type', f.actor_type)]),
  ...(f.target_type === undefined ? [] : [says('{target,type}', 'type', f.target_type)]),
  ...(f.operation === undefined ? [] : [says('{operation}', 'operation', f.operation)]),
  ...(f.reason === undefined ? [] : [saysReason(f.reason)]),
  ...(f.username === undefined ? [] : [saysUsername(f.username)]),
  ...(f.terms ?? []).map((term) => sql<boolean>`record collate "C" ~* ${patternOf(term)}`),
]

/** All conditions except the time window and the sequence number. */
export const eventConditions = (f: EventFilter): Condition[] => [
  ...requiredColumnsOf(f).map(({ condition }) => condition),
  ...(f.kinds ? [isOneOf(f.kinds)] : []),
  ...(f.q === undefined ? [] : [begins(f.q)]),
  ...othersOf(f),
]

/** Compares a member of the record. `like` runs first: it costs a tenth of parsing the JSON. */
const says = (path: string, name: string, value: string) =>
  sql<boolean>`(record like ${`%${literal(JSON.stringify({ [name]: value }).slice(1, -1))}%`} and record::jsonb #>> ${path} = ${value})`

/** Failed sign-ins name it `failure_reason`, which ends in the same letters. */
const saysReason = (value: string) =>
  sql<boolean>`(record like ${`%reason":${literal(JSON.stringify(value))}%`}
    and ${value} in (record::jsonb ->> 'reason', record::jsonb ->> 'failure_reason'))`
/** Also matches one of several usernames that were throttled together. */
const saysUsername = (value: string) =>
  sql<boolean>`(record like '%"username%' and (lower(record::jsonb ->> 'username') = lower(${value})
    or coalesce(jsonb_exists(record::jsonb #> '{details,usernames}', ${value}), false)))`

/** Escapes a text for `like`. */
const literal = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&')

export type Order = { by: 'timestamp' | 'seq'; descending: boolean }

/** Compares in the order of the list: `>` means after the position, `<=` up to it. */
export function comparePlace({ by, descending }: Order, operator: '>' | '<=', [key, tie]: ListPlace) {
  const as = sql.raw(descending ? { '>': '<', '<=': '>=' }[operator] : operator)
  return by === 'seq'
    ? sql<boolean>`seq ${as} cast(${key} as bigint)`
    : sql<boolean>`(at, event_id) ${as} (cast(${key} as timestamptz), cast(${tie} as uuid))`
}
export const orderBy = ({ by, descending }: Order) => {
  const direction = sql.raw(descending ? 'desc' : 'asc')
  return by === 'seq' ? sql`seq ${direction}` : sql`at ${direction}, event_id ${direction}`
}
