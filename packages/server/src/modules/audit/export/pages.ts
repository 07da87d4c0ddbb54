import { background, type Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { Stored } from '../formats/event.ts'
import { eventsBetween, type Filter } from './export.queries.ts'

/** Events read together: what an export holds in memory, about twice. */
const most = 500
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
  last: number,
): AsyncGenerator<Stored[], void, undefined> {
  let width = most
  for (let after = 0; after < last; ) {
    const upTo = Math.min(after + width, last)
    const rows = await db.inTenant(tenant, (tx) => eventsBetween(tx, tenant, filter, { after, upTo, most }), background)
    after = rows.length === most ? rows.at(-1)!.seq : upTo
    width = rows.length === most ? most : Math.min(width * 2, widest)
    if (rows.length > 0) yield rows.map(({ seq, hash, record }) => ({ seq, hash: hash.toString('hex'), record }))
  }
}
