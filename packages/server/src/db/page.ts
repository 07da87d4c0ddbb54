import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { fail } from '../kernel/app-error.ts'
import type { Tx } from './database.ts'

/** A page of a list: what the query of a list endpoint says, plus what makes its cursors its own. */
export type PageQuery = { limit?: number; cursor?: string; sort?: string }
export type Page<T> = { items: T[]; next_cursor: string | null }

/**
 * One order of a list: an indexed column and the unique column that breaks ties. Text is ordered by the column of the
 * same name with `_key`: in small letters, by its bytes.
 */
type Order = { column: string; kind: 'time' | 'text' | 'number'; tie: string; descending: boolean }

/** Where something stands in the order of a list: its sort key, and what breaks ties. */
export type Place = readonly [key: string, tie: string]

/** What a list endpoint says of itself: its filter is all of the query but the page. */
type List = {
  operation: string
  tenant: TenantId
  query: PageQuery & Record<string, unknown>
  /** Sortable columns by their names in the contract. */
  orders: Record<string, Pick<Order, 'column' | 'kind'>>
  /** The order of a caller who names none. */
  otherwise: string
  /** The unique column that breaks ties. */
  tie: string
  /** How many rows a page of a walk looks at, where each costs a look elsewhere. */
  walked?: number
}

/**
 * Cursors are the last row's sort key, signed together with the operation, tenant and filter that made them, so that
 * one list's cursor is refused by another. The first secret signs, any is believed.
 */
export function createPager(secrets: readonly KeyObject[]) {
  const sign = (secret: KeyObject, body: string, scope: string) =>
    createHmac('sha256', secret).update(scope).update('\0').update(body).digest().subarray(0, 16)

  const encode = (key: Place, scope: string) => {
    const body = Buffer.from(JSON.stringify(key)).toString('base64url')
    return `${body}.${sign(secrets[0]!, body, scope).toString('base64url')}`
  }
  const decode = (cursor: string, scope: string): [string, string] => {
    const [body = '', mac = '', ...rest] = cursor.split('.')
    const given = Buffer.from(mac, 'base64url')
    const isSigned = secrets.some((secret) => given.length === 16 && timingSafeEqual(given, sign(secret, body, scope)))
    if (rest.length > 0 || !isSigned)
      fail('bad_request', 'cursor: not a cursor of this list and filter; start again without it')
    return JSON.parse(Buffer.from(body, 'base64url').toString()) as [string, string]
  }

  /**
   * Runs a select in keyset order and cuts it to a page. `scope` names operation, tenant and filter. `walk` is the
   * select without a condition that no index serves: a page then looks at no more than the next `most` rows of it, and
   * may be short, or empty, and go on.
   */
  async function page<DB, T extends keyof DB, O extends object, WDB, WT extends keyof WDB, W extends object>(
    select: SelectQueryBuilder<DB, T, O>,
    query: PageQuery,
    order: Order,
    scope: string,
    walk?: SelectQueryBuilder<WDB, WT, W>,
    most = walked,
  ): Promise<Page<O>> {
    const limit = query.limit ?? 50
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
   * A page of one of the contract's lists. Its order, and what its cursors are bound to, follow from the list itself:
   * operation, tenant and filter.
   */
  const list = <DB, T extends keyof DB, O extends object, WDB, WT extends keyof WDB, W extends object>(
    select: SelectQueryBuilder<DB, T, O>,
    { operation, tenant, query, orders, otherwise, tie, walked: most }: List,
    walk?: SelectQueryBuilder<WDB, WT, W>,
  ): Promise<Page<O>> => {
    // Whether they are counted does not change which things there are.
    const { limit, cursor, sort = otherwise, count: _, ...filter } = query
    const window = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
    const scope = `${operation}|${tenant}|${JSON.stringify(filter)}`
    return page(select, window, orderOf(sort, orders, tie), scope, walk, most)
  }

  /**
   * A page of a list that no one select gives: `read` answers what comes after a place in its order, no more than so
   * many, and where it looks no further, how far it has come.
   */
  const gather = async <T>(
    { operation, tenant, query }: Pick<List, 'operation' | 'tenant' | 'query'>,
    read: (after: Place | undefined, most: number) => Promise<{ found: readonly T[]; end?: Place | undefined }>,
    placeOf: (item: T) => Place,
  ): Promise<Page<T>> => {
    const { limit = 50, cursor, ...filter } = query
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

/** The condition that a column kept in small letters (`…_key`) begins with a prefix: a range, which an index serves. */
export const hasPrefix = (column: string, prefix: string) => isFrom(column, sql`lower(${prefix})`)
/** The same of a column that is kept as it was written. */
export const hasExactPrefix = (column: string, prefix: string) => isFrom(column, sql`cast(${prefix} as text)`)
const isFrom = (column: string, prefix: RawBuilder<unknown>) =>
  sql<boolean>`(${sql.ref(column)} >= ${prefix} and ${sql.ref(column)} < ${prefix} || ${lastCharacter})`
const lastCharacter = '\u{10ffff}'

/** How many rows a page of a walk looks at. */
const walked = 8_000
/**
 * Up to how many rows a filter is answered from its own index; beyond, a walk in the list's order soon fills a page.
 */
export const few = 4_000

/**
 * `column` of what fits a filter, from that filter's index and at most one more than few. Ordered as the index is, so
 * that nothing else is read, whatever the planner thinks of the filter.
 */
export const fits = (column: string, from: RawBuilder<unknown>, inIndexOrder: readonly string[], most = few) =>
  sql`(select ${sql.ref(column)} as found from ${from} order by ${sql.join(inIndexOrder.map((c) => sql.ref(c)))} limit ${most + 1})`
/** Whether a filter fits few rows. */
export const isRare = async (tx: Tx, fitting: RawBuilder<unknown>, most = few): Promise<boolean> => {
  const { rows } = await sql<{ n: number }>`select count(*) as n from (${fitting}) as fitting`.execute(tx)
  return (rows[0]?.n ?? 0) <= most
}
