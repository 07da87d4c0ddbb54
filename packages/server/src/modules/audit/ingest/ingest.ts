import type { Database, Tx } from '../../../db/database.ts'
import type { Handlers } from '../../../http/handlers.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { AppError } from '../../../kernel/app-error.ts'
import { createGroupCommit } from '../../../kernel/group-commit.ts'
import { createRateLimiter } from '../../../kernel/rate-limit.ts'
import type { Arrival } from '../audit.queries.ts'
import { noteReported } from './ingest.queries.ts'
import { type GivenEvent, readEvent } from './read-event.ts'

/** Events of one gateway, known ones too; each replica counts what it is sent itself. */
const mostPerMinute = 60_000

type Deps = {
  db: Database
  now: () => Date
  /** Puts events on record, in the order in which they are given. */
  write: (tx: Tx, rows: Arrival[]) => Promise<void>
}
/** The events of one request, by the ids that their gateway gave them. */
type Item = { tenantId: TenantId; gatewayId: string; at: Date; events: ReadonlyMap<string, Arrival> }

/** What gateways put on record: the requests of the same moment share a commit, and each event counts once. */
export function createIngest({ db, now, write }: Deps) {
  const join = createGroupCommit<Item, number>(
    (batch) =>
      db.acrossTenants(async (tx) => {
        const reported = batch.flatMap(({ tenantId, gatewayId, at, events }) =>
          [...events.keys()].map((eventId) => ({ tenantId, gatewayId, eventId, at })),
        )
        const fresh = new Set((await noteReported(tx, reported)).map((r) => `${r.gateway_id}|${r.event_id}`))
        const written = batch.map(({ gatewayId, events }) =>
          [...events].flatMap(([eventId, event]) => (fresh.delete(`${gatewayId}|${eventId}`) ? [event] : [])),
        )
        const rows = written.flat()
        if (rows.length > 0) await write(tx, rows)
        return written.map((events) => events.length)
      }),
    // An item is a thousand events, or a mebibyte: few of them are a batch, and not many more may wait.
    { tenantOf: ({ tenantId }) => tenantId, maxBatch: 4, maxQueue: 128, maxPerTenant: 64 },
  )

  const sent = createRateLimiter()

  async function take(actor: Actor<'gateway'>, given: readonly GivenEvent[]) {
    const wait = sent.take(actor.principal.id, mostPerMinute, performance.now(), given.length)
    if (wait > 0) throw new AppError('rate_limited', 'too many events', { retryAfterSeconds: wait })
    const at = now()
    const rejected: { index: number; error: string }[] = []
    const events = new Map<string, Arrival>()
    for (const [index, e] of given.entries()) {
      const read = readEvent(actor, e, at)
      if ('error' in read) rejected.push({ index, error: read.error })
      else if (!events.has(e.event_id)) events.set(e.event_id, read)
    }
    const item = { tenantId: actor.tenantId, gatewayId: actor.principal.id, at, events }
    const accepted = events.size > 0 ? await join(item) : 0
    return { accepted, duplicate: given.length - rejected.length - accepted, rejected }
  }

  return {
    handlers: { ingestAuditEvents: ({ actor, body }) => take(actor, body.events) } satisfies Partial<Handlers>,
  }
}
