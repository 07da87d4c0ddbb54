import { background, type Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { allOf, conditionsOf, type Filter, within } from '../events/conditions.queries.ts'
import type { Stored } from '../formats/event.ts'
import { BrokenOff } from './broken-off.ts'
import { type Row, requireAsRecorded } from './columns.ts'
import { beginsAfter, eventsBetween, type Window } from './export.queries.ts'

/** Events read together, and how large they may be until no more are: what an export holds in memory, about twice. */
const most = 500
const mostBytes = 1024 * 1024
/** How many places one statement may look at: few where much fits, more and more where little does. */
const widest = 32_000

/**
 * What fits, up to a place, a page at a time. Each page is one short transaction, begun when the one before was
 * taken: whoever takes slowly holds no connection of the database. Throws once what was still to be read is no
 * longer kept, and `BrokenPlace` behind the last event that is as it was recorded.
 */
export async function* pagesUpTo(
  db: Database,
  tenant: TenantId,
  filter: Filter,
  end: number,
): AsyncGenerator<Stored[], void, undefined> {
  const fits = allOf([within(filter), ...conditionsOf(filter)])
  let width = most
  let isBegun = false
  let before: Row | undefined
  /** The first of these that are as they were recorded, and what the next is not. */
  function recorded(rows: readonly Row[]): { page: Stored[]; broken?: unknown } {
    const page: Stored[] = []
    for (const row of rows)
      try {
        requireAsRecorded(row, before)
        before = row
        page.push({ seq: row.seq, hash: row.hash.toString('hex'), record: row.record })
      } catch (broken) {
        return { page, broken }
      }
    return { page }
  }
  /** A page and how far it goes; what was read for it is none of what it holds. */
  async function read(window: Window) {
    // In this order: whatever is gone before the events are read is seen to be gone.
    const { rows, beginning } = await db.inTenant(
      tenant,
      async (tx) => ({
        rows: await eventsBetween(tx, tenant, fits, window),
        beginning: await beginsAfter(tx, tenant),
      }),
      background,
    )
    const last = rows.at(-1)
    const isFull = last !== undefined && (rows.length >= most || last.bytes >= mostBytes)
    return { ...recorded(rows), beginning, isEmpty: !last, fullAt: isFull ? last.seq : undefined }
  }
  for (let after = filter.after_seq ?? 0; after < end; ) {
    const upTo = Math.min(after + width, end)
    const { page, broken, beginning, isEmpty, fullAt } = await read({ after, upTo, most, mostBytes })
    if (isBegun && beginning > after)
      throw new BrokenOff('purged', `purged up to ${beginning} while exported from ${after}`)
    isBegun ||= !isEmpty
    after = fullAt ?? (isBegun ? upTo : Math.max(upTo, beginning))
    width = fullAt === undefined ? Math.min(width * 2, widest) : most
    if (page.length > 0) yield page
    if (broken) throw broken
  }
}
