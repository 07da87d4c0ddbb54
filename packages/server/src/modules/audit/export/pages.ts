import { background, type Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { allOf, type EventFilter, eventConditions, within } from '../events/conditions.queries.ts'
import type { StoredEvent } from '../formats/event.ts'
import { BrokenOff } from './broken-off.ts'
import { type AuditExportRow, requireAsRecorded } from './columns.ts'
import { beginsAfter, type ExportWindow, eventsBetween } from './export.queries.ts'

/** Events and bytes read for one page. An export holds about twice this in memory. */
const most = 500
const mostBytes = 1024 * 1024
/** Maximum span of sequence numbers for one statement. The span grows while few events match. */
const widest = 32_000

/**
 * Yields the matching events up to `end`, in pages. Each page is one short transaction that begins when the previous
 * page was consumed, so a slow client holds no database connection. Throws if events still to be read are purged, and
 * throws `BrokenPlace` after the last intact event.
 */
export async function* pagesUpTo(
  db: Database,
  tenant: TenantId,
  filter: EventFilter,
  end: number,
): AsyncGenerator<StoredEvent[], void, undefined> {
  const fits = allOf([within(filter), ...eventConditions(filter)])
  let width = most
  let isBegun = false
  let before: AuditExportRow | undefined
  /** Returns the leading rows that are as recorded, and the error of the next one. */
  function recorded(rows: readonly AuditExportRow[]): { page: StoredEvent[]; broken?: unknown } {
    const page: StoredEvent[] = []
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
  /**
   * Reads a page and how far it reaches. The result keeps no reference to the rows, so that their memory can be freed.
   */
  async function read(window: ExportWindow) {
    // The order matters: a purge that precedes the reading of events shows in `beginning`.
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
      throw new BrokenOff(
        'purged',
        `events up to sequence number ${beginning} were purged during the export, which had reached ${after}`,
      )
    isBegun ||= !isEmpty
    after = fullAt ?? (isBegun ? upTo : Math.max(upTo, beginning))
    width = fullAt === undefined ? Math.min(width * 2, widest) : most
    if (page.length > 0) yield page
    if (broken) throw broken
  }
}
