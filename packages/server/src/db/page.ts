import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { pageItems } from '@holdfast/contract/limits'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { fail } from '../kernel/app-error.ts'
import type { Tx } from './database.ts'

/** Query parameters of a page, as in every list endpoint. */
export type PageQuery = { limit?: number; cursor?: string; sort?: string }
export type Page<T> = { items: T[]; next_cursor: string | null }

/**
 * One order of a list: an indexed column, and the unique column that breaks ties. Text is sorted by the column of the
 * same name with `_key`: lower case, by bytes.
 */
type Order = { column: string; kind: 'time' | 'text' | 'number'; tie: string; descending: boolean }

/** Position in the order of a list: the sort key and the tie-breaker. */
export type ListPlace = readonly [key: string, tie: string]

/** Description of a list endpoint. Its filter is the query without the page parameters. */
type List = {
  /** The operation of the contract. A list of one object has its id after `|`. */
  operation: string
  tenant: TenantId
  query: PageQuery & Record<string, unknown>
  /** Sortable columns by their names in the contract. */
  orders: Record<string, Pick<Order, 'column' | 'kind'>>
  /** Default order; absent: that of the contract. */
  otherwise?: string
  /** The unique column that breaks ties. */
  tie: string
  /** Number of rows that a page of a walk reads, if each row costs a further look-up. */
  walked?: number
}

/**
 * Creates a pager with signed cursors. A cursor holds the last row's sort key, signed together with its operation,
 * tenant and filter, so that another list refuses it. The first secret signs; all secrets verify.
 */
export function createPager(secrets: readonly KeyObject[], usualSort: (operation: string) => string) {
  const sign = (secret: KeyObject, body: string, scope: string) =>
    createHmac('sha256', secret).update(scope).update('\0').update(body).digest().subarray(0, 16)

  const encode = (key: ListPlace, scope: string) => {
    const body = Buffer.from(JSON.stringify(key)).toString('base64url')
    return `${body}.${sign(secrets[0]!, body, scope).toString('base64url')}`
  }
  const decode = (cursor: string, scope: string): [string, string] => {
    const [body = '', mac = '', ...rest] = cursor.split('.')
    const given = Buffer.from(mac, 'base64url')
    const isSigned = secrets.some((secret) => given.length === 16 && timingSafeEqual(given, sign(secret, body, scope)))
    if (rest.length > 0 || !isSigned)
      fail('bad_request', 'cursor: does not belong to this list and filter: start again without a cursor')
    return JSON.parse(Buffer.from(body, 'base64url').toString()) as [string, string]
  }

  /**
   * Runs a select in keyset order and cuts it to a page. `scope` names operation, tenant and filter. `walk` is the
   * select without a condition that has no index: a page then reads at most the next `most` rows of it, so it may be
   * short or empty and still have a next page.
   */
  async function page<DB, T extends keyof DB, O extends object, WDB, WT extends keyof WDB, W extends object>(
    select: SelectQueryBuilder<DB, T, O>,
    query: PageQuery,
    order: Order,
    scope: string,
    walk?: SelectQueryBuilder<WDB, WT, W>,
    most = walked,
  ): Promise<Page<O>> {
    const limit = query.limit ?? pageItems.usual
    const bound = `${scope}|${order.column}|${order.descending}`
    const column = sql.ref(order.kind === 'text' ? `${order.column}_key` : order.column)
    const tie = sql.ref(order.tie)
    const direction = sql.raw(order.descending ? 'desc' : 'asc')
    const cast = sql.raw({ time: 'timestamptz', text: 'text', number: 'bigint' }[order.kind])
    const compare = (operator: '<' | '>' | '<=' | '>=', [value, id]: readonly [string, string]) =>
      sql<boolean>`(${column}, ${tie}) ${sql.raw(operator)} (cast(${value} as ${cast}), cast(${id} as uuid))`
    const inOrder = <D, F extends keyof D, R extends object>(q: SelectQueryBuilder<D, F, R>) => {
      const rest =
        query.cursor === undefined
          ? q
          : q.where(() => compare(order.descending ? '<' : '>', decode(query.cursor ?? '', bound)))
      return rest
        .select(sql<string>`cast(${column} as text)`.as('sort_key'))
        .select(sql<string>`cast(${tie} as text)`.as('tie_key'))
        .orderBy(sql`${column} ${direction}`)
        .orderBy(sql`${tie} ${direction}`)
        .$castTo<R & { sort_key: string; tie_key: string }>()
    }
    const end = walk && (await inOrder(walk).offset(most).limit(1).execute())[0]
    const within = end && select.where(() => compare(order.descending ? '>=' : '<=', [end.sort_key, end.tie_key]))
    const rows = await inOrder(within ?? select)
      .limit(limit + 1)
      .execute()
    const items = rows.slice(0, limit)
    const last = rows.length > limit ? items.at(-1) : end
    return { items, next_cursor: last ? encode([last.sort_key, last.tie_key], bound) : null }
  }

  /**
   * Reads a page of a list of the contract. The order, and the operation, tenant and filter of its cursors, follow from
   * the list itself.
   */
  const list = <DB, T extends keyof DB, O extends object, WDB, WT extends keyof WDB, W extends object>(
    select: SelectQueryBuilder<DB, T, O>,
    {
      operation,
      tenant,
      query,
      orders,
      otherwise = usualSort(operation.split('|', 1)[0] ?? ''),
      tie,
      walked: most,
    }: List,
    walk?: SelectQueryBuilder<WDB, WT, W>,
  ): Promise<Page<O>> => {
    // The `count` parameter does not change the items of the list.
    const { limit, cursor, sort = otherwise, count: _, ...filter } = query
    const window = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
    const scope = `${operation}|${tenant}|${JSON.stringify(filter)}`
    return page(select, window, orderOf(sort, orders, tie), scope, walk, most)
  }

  /**
   * Reads a page of a list that no single select gives. `read` returns the items after a position, at most as many as
   * asked for, and the position that it reached if it stopped early.
   */
  const gather = async <T>(
    { operation, tenant, query }: Pick<List, 'operation' | 'tenant' | 'query'>,
    read: (after: ListPlace | undefined, most: number) => Promise<{ found: readonly T[]; end?: ListPlace | undefined }>,
    placeOf: (item: T) => ListPlace,
  ): Promise<Page<T>> => {
    const { limit = pageItems.usual, cursor, ...filter } = query
    const scope = `${operation}|${tenant}|${JSON.stringify(filter)}`
    const { found, end } = await read(cursor === undefined ? undefined : decode(cursor, scope), limit + 1)
    const items = found.slice(0, limit)
    const last = items.at(-1)
    const place = found.length > limit && last !== undefined ? placeOf(last) : end
    return { items, next_cursor: place ? encode(place, scope) : null }
  }

  return { page, list, gather }
}
export type Pager = ReturnType<typeof createPager>

/** `-name` → name, descending. `columns` maps the names of the contract to columns. */
const orderOf = (sort: string, columns: Record<string, Pick<Order, 'column' | 'kind'>>, tie: string): Order => {
  const descending = sort.startsWith('-')
  const column = columns[descending ? sort.slice(1) : sort]
  if (!column) throw new Error(`no column for sort ${sort}`)
  return { ...column, tie, descending }
}

/** Condition: a lower-case column (`…_key`) begins with a prefix. It is a range, so an index serves it. */
export const hasPrefix = (column: string, prefix: string) => isFrom(column, sql`lower(${prefix})`)
/** The same for a column in its original case. */
export const hasExactPrefix = (column: string, prefix: string) => isFrom(column, sql`cast(${prefix} as text)`)
const isFrom = (column: string, prefix: RawBuilder<unknown>) =>
  sql<boolean>`(${sql.ref(column)} >= ${prefix} and ${sql.ref(column)} < ${prefix} || ${lastCharacter})`
const lastCharacter = '\u{10ffff}'

/** Number of rows that a page of a walk reads. */
const walked = 8_000
/**
 * Largest number of rows for which a filter uses its own index. Beyond it, a walk in the list's order soon fills a
 * page.
 */
export const few = 4_000

/**
 * Selects `column` of the rows that fit a filter, from that filter's index, at most `most` + 1. The order is that of
 * the index, so that nothing else is read, whatever the planner estimates.
 */
export const fits = (column: string, from: RawBuilder<unknown>, inIndexOrder: readonly string[], most = few) =>
  sql`(select ${sql.ref(column)} as found from ${from} order by ${sql.join(inIndexOrder.map((c) => sql.ref(c)))} limit ${most + 1})`
/** Number of rows that fit a filter, from its index; one more than the most that `fitting` selects if there are more. */
const countFitting = async (tx: Tx, fitting: RawBuilder<unknown>): Promise<number> => {
  const { rows } = await sql<{ n: number }>`select count(*) as n from (${fitting}) as fitting`.execute(tx)
  return rows[0]?.n ?? 0
}
/** True if a filter fits at most `most` rows. */
export const isRare = async (tx: Tx, fitting: RawBuilder<unknown>, most = few): Promise<boolean> =>
  (await countFitting(tx, fitting)) <= most
