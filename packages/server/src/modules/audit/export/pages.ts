import { background, type Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { Stored } from '../formats/event.ts'
import { eventsBetween } from './export.queries.ts'
import type { Filter } from './filter.ts'

/** Events read together, and how large they may be until no more are: what an export holds in memory, about twice. */
const most = 500
const mostBytes = 1024 * 1024
/** How many places one statement may look at: few where much fits, more and more where little does. */
const widest = 32_000

/**
 * What fits, up to a place, a page at a time. Each page is one short transaction, begun when the one before was taken:
 * whoever takes slowly holds no connection of the database.
 */
export async function* pagesUpTo(
  db: Database,
  tenant: TenantId,
  filter: Filter,
  end: number,
): AsyncGenerator<Stored[], void, undefined> {
  let width = most
  for (let after = 0; after < end; ) {
    const upTo = Math.min(after + width, end)
    const window = { after, upTo, most, mostBytes }
    const rows = await db.inTenant(tenant, (tx) => eventsBetween(tx, tenant, filter, window), background)
    const last = rows.at(-1)
    const isFull = last !== undefined && (rows.length === most || last.bytes >= mostBytes)
    after = isFull ? last.seq : upTo
    width = isFull ? most : Math.min(width * 2, widest)
    if (rows.length > 0) yield rows.map(({ seq, hash, record }) => ({ seq, hash: hash.toString('hex'), record }))
  }
}
