import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { decodeId } from '../../../kernel/ids.ts'
import { canonicalUsername, isOwnExternalId, type Searched, type SearchedEntry } from '../../identity/index.ts'
import { type Kind, spelled, withoutUrn } from './attributes.ts'
import { failScim } from './errors.ts'
import type { Comparison, FilterValue, ScimFilter } from './filter.ts'
import { truthOf } from './match.ts'

type Condition = RawBuilder<SqlBool>
const cannot = (what: string): never => failScim('invalidFilter', `filter: ${what}`)

const never = sql<SqlBool>`false`
const isThere = (column: RawBuilder<unknown>) => sql<SqlBool>`${column} is not null`
/** A comparison with a missing value is null, which counts as false. Only its negation must be true. */
const not = (condition: RawBuilder<unknown>) => sql<SqlBool>`not coalesce(${condition}, false)`
const orders: Partial<Record<Comparison, RawBuilder<unknown>>> = {
  gt: sql`>`,
  ge: sql`>=`,
  lt: sql`<`,
  le: sql`<=`,
}

/** Searched columns, and the attribute names of their type. */
export type Field = { kind: Kind; entry: SearchedEntry }

/** Finds the column of a path. The path may name a part of a multi-valued attribute. */
function find({ kind, entry }: Field, path: string): { searched: Searched; name: string } | undefined {
  const own = withoutUrn(kind, path) ?? ''
  const name = spelled(own, Object.keys(entry))
  if (name !== undefined) return { searched: entry[name]!, name }
  const dot = own.lastIndexOf('.')
  const many = spelled(own.slice(0, Math.max(dot, 0)), Object.keys(entry))
  const searched = many === undefined ? undefined : entry[many]
  if (many === undefined || searched?.kind !== 'many') return undefined
  const part = spelled(own.slice(dot + 1), Object.keys(searched.parts))
  const parts = part === undefined ? undefined : searched.parts[part]
  return parts && { searched: { ...searched, parts: { value: parts } }, name: many }
}

const nothing = { id: sql`null::uuid`, exact: sql`null::text`, text: sql`null::text`, truth: sql`null::boolean` }
/** The same attribute in a resource that never has it. */
function missing(searched: Searched): Searched {
  switch (searched.kind) {
    case 'many': {
      const parts = Object.entries(searched.parts).map(([name, part]) => [name, missing(part)] as const)
      return { kind: 'many', rows: sql`(select) as none where false`, parts: Object.fromEntries(parts) }
    }
    case 'exact':
      return { kind: 'exact', column: nothing.exact, indexed: nothing.exact }
    case 'time':
      return { kind: 'time', column: sql`null::timestamptz` }
    default:
      return { ...searched, column: nothing[searched.kind] }
  }
}

/**
 * Converts a filter to an SQL condition. Values are bound parameters. `other`: a second resource type searched by the
 * same filter; its attributes have no value here (RFC 7644 §3.4.2.1).
 */
export function conditionOf(filter: ScimFilter, field: Field, other?: Field): Condition {
  const { kind } = field
  const named = (path: string): { searched: Searched; name: string } => {
    const own = find(field, path)
    if (own) return own
    const its = other && find(other, path)
    return its
      ? { searched: missing(its.searched), name: its.name }
      : cannot(`"${path.slice(0, 64)}" cannot be used in a filter`)
  }
  const walk = (f: ScimFilter): Condition => {
    switch (f.kind) {
      case 'and':
        return sql`(${walk(f.left)} and ${walk(f.right)})`
      case 'or':
        return sql`(${walk(f.left)} or ${walk(f.right)})`
      case 'not':
        return not(walk(f.of))
      case 'present': {
        const { searched } = named(f.path)
        if (searched.kind !== 'many') return isThere(searched.column)
        return some(searched.rows, present(searched.parts.value))
      }
      case 'compare': {
        const { searched, name } = named(f.path)
        if (searched.kind !== 'many') return leaf(name, searched, f.op, f.value)
        return some(searched.rows, leaf(name, searched.parts.value, f.op, f.value))
      }
      case 'some': {
        const { searched } = named(f.path)
        if (searched.kind !== 'many')
          return cannot(`"${f.path.slice(0, 64)}" has only one value, so a filter in brackets is not allowed`)
        return some(searched.rows, conditionOf(f.of, { kind, entry: searched.parts }))
      }
    }
  }
  return walk(filter)
}

const present = (part: Searched | undefined): Condition =>
  part && part.kind !== 'many'
    ? isThere(part.column)
    : cannot('compare an attribute with a simple value, such as emails.value')
const some = (rows: RawBuilder<unknown>, condition: Condition) =>
  sql<SqlBool>`exists (select from ${rows} and ${condition})`

function leaf(name: string, searched: Searched | undefined, op: Comparison, value: FilterValue): Condition {
  if (!searched || searched.kind === 'many')
    return cannot('compare an attribute with a simple value, such as emails.value')
  const { column } = searched
  if (value === null) {
    if (op !== 'eq' && op !== 'ne') return cannot(`${op} needs a value other than null`)
    return op === 'ne' ? isThere(column) : not(isThere(column))
  }
  const either = (same: RawBuilder<unknown>): Condition => {
    if (op === 'eq') return sql<SqlBool>`${same}`
    return op === 'ne' ? not(same) : cannot(`${name} can only be compared by eq, ne or pr`)
  }
  switch (searched.kind) {
    case 'id': {
      const id = typeof value === 'string' ? decodeId(searched.noun, value) : undefined
      return either(id === undefined ? never : sql`${column} = ${id}::uuid`)
    }
    case 'truth': {
      const boolean = truthOf(value) ?? cannot(`${name} can only be compared with true or false`)
      return either(sql`(${column}) = ${boolean}`)
    }
    case 'time': {
      const at = typeof value === 'string' && dateTime.test(value) ? Date.parse(value) : Number.NaN
      if (Number.isNaN(at)) return cannot(`${name} can only be compared with a date-time`)
      const time = sql`date_trunc('milliseconds', ${column})`
      const order = orders[op]
      return order ? sql<SqlBool>`${time} ${order} ${new Date(at)}` : either(sql`${time} = ${new Date(at)}`)
    }
    case 'exact': {
      if (typeof value !== 'string') return cannot(`${name} can only be compared with a string`)
      const isEqual = op === 'eq' && !isOwnExternalId(value)
      return textLeaf(isEqual ? searched.indexed : column, op, sql`${value}::text`)
    }
    case 'text': {
      if (typeof value !== 'string') return cannot(`${name} can only be compared with a string`)
      return textLeaf(column, op, sql`lower(${spellingOf(name, value)}::text)`)
    }
  }
}

/** RFC 7643 §2.3.5, limited to years that PostgreSQL supports. */
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?$/i

/** A userName has one canonical spelling. */
const spellingOf = (name: string, value: string): string =>
  name === 'userName' ? (canonicalUsername(value).name ?? value) : value

function textLeaf(column: RawBuilder<unknown>, op: Comparison, text: RawBuilder<unknown>): Condition {
  switch (op) {
    case 'eq':
      return sql<SqlBool>`${column} = ${text}`
    case 'ne':
      return not(sql`${column} = ${text}`)
    case 'co':
      return sql<SqlBool>`strpos(${column}, ${text}) > 0`
    case 'sw':
      return sql<SqlBool>`starts_with(${column}, ${text})`
    case 'ew':
      return sql<SqlBool>`right(${column}, length(${text})) = ${text}`
    default:
      return sql<SqlBool>`${column} collate "C" ${orders[op] ?? sql`>`} ${text} collate "C"`
  }
}
