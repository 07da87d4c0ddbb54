import { createHmac, timingSafeEqual } from 'node:crypto'
import { type SelectQueryBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { fail } from '../kernel/app-error.ts'

/** A page of a list: what the query of a list endpoint says, plus what makes its cursors its own. */
export type PageQuery = { limit?: number; cursor?: string; sort?: string }
export type Page<T> = { items: T[]; next_cursor: string | null }

/** One order of a list: an indexed column and the unique column that breaks ties. */
export type Order = { column: string; kind: 'time' | 'text' | 'number'; tie: string; descending: boolean }

/** What a list endpoint says of itself: its filter is all of the query but the page. */
export type List = {
  operation: string
  tenant: TenantId
  query: PageQuery & Record<string, unknown>
  /** Sortable columns by their names in the contract. */
  orders: Record<string, Pick<Order, 'column' | 'kind'>>
  /** The order of a caller who names none. */
  otherwise: string
  /** The unique column that breaks ties. */
  tie: string
}

/**
 * Cursors are the last row's sort key, signed together with the operation, tenant and filter that made them, so that
 * one list's cursor is refused by another.
 */
export function createPager(secret: Uint8Array) {
  const sign = (body: string, scope: string) =>
    createHmac('sha256', secret).update(scope).update('\0').update(body).digest().subarray(0, 16)

  const encode = (key: readonly [string, string], scope: string) => {
    const body = Buffer.from(JSON.stringify(key)).toString('base64url')
    return `${body}.${sign(body, scope).toString('base64url')}`
  }
  const decode = (cursor: string, scope: string): [string, string] => {
    const [body = '', mac = '', ...rest] = cursor.split('.')
    const given = Buffer.from(mac, 'base64url')
    if (rest.length > 0 || given.length !== 16 || !timingSafeEqual(given, sign(body, scope)))
      fail('bad_request', 'cursor: not a cursor of this list and filter; start again without it')
    return JSON.parse(Buffer.from(body, 'base64url').toString()) as [string, string]
  }

  /** Runs a select in keyset order and cuts it to a page. `scope` names operation, tenant and filter. */
  async function page<DB, T extends keyof DB, O extends object>(
    select: SelectQueryBuilder<DB, T, O>,
    query: PageQuery,
    order: Order,
    scope: string,
  ): Promise<Page<O>> {
    const limit = query.limit ?? 50
    const bound = `${scope}|${order.column}|${order.descending}`
    const column = sql.ref(order.column)
    const tie = sql.ref(order.tie)
    const direction = sql.raw(order.descending ? 'desc' : 'asc')
    let q = select
    if (query.cursor !== undefined) {
      const [value, id] = decode(query.cursor, bound)
      const compare = sql.raw(order.descending ? '<' : '>')
      const cast = sql.raw({ time: 'timestamptz', text: 'text', number: 'numeric' }[order.kind])
      q = q.where(
        () =>
          sql<boolean>`(${keyOf(order, column)}, ${tie}) ${compare} (cast(${value} as ${cast}), cast(${id} as uuid))`,
      )
    }
    const rows = await q
      .select(sql<string>`cast(${keyOf(order, column)} as text)`.as('sort_key'))
      .select(sql<string>`cast(${tie} as text)`.as('tie_key'))
      .orderBy(sql`${keyOf(order, column)} ${direction}`)
      .orderBy(sql`${tie} ${direction}`)
      .limit(limit + 1)
      .$castTo<O & { sort_key: string; tie_key: string }>()
      .execute()
    const items = rows.slice(0, limit)
    const last = items.at(-1)
    return { items, next_cursor: rows.length > limit && last ? encode([last.sort_key, last.tie_key], bound) : null }
  }

  /**
   * A page of one of the contract's lists. Its order, and what its cursors are bound to, follow from the list itself:
   * operation, tenant and filter.
   */
  const list = <DB, T extends keyof DB, O extends object>(
    select: SelectQueryBuilder<DB, T, O>,
    { operation, tenant, query, orders, otherwise, tie }: List,
  ): Promise<Page<O>> => {
    const { limit, cursor, sort = otherwise, ...filter } = query
    const window = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
    return page(select, window, orderOf(sort, orders, tie), `${operation}|${tenant}|${JSON.stringify(filter)}`)
  }

  return { page, list }
}
export type Pager = ReturnType<typeof createPager>

const keyOf = (order: Order, column: ReturnType<typeof sql.ref>) =>
  order.kind === 'text' ? sql`lower(${column})` : column

/** `-name` → name, descending. `columns` maps the names of the contract to columns. */
export const orderOf = (sort: string, columns: Record<string, Pick<Order, 'column' | 'kind'>>, tie: string): Order => {
  const descending = sort.startsWith('-')
  const column = columns[descending ? sort.slice(1) : sort]
  if (!column) throw new Error(`no column for sort ${sort}`)
  return { ...column, tie, descending }
}

/** A prefix as a LIKE pattern: the user's own wildcards are text. */
export const prefixPattern = (q: string) => `${q.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`
