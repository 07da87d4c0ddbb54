import type { Contract, Given } from '@holdfast/contract'
import { reportedKinds } from '@holdfast/contract/audit-fields'
import { ingestion } from '@holdfast/contract/limits'
import type { Database, Tx } from '../../../db/database.ts'
import type { Handlers } from '../../../http/handlers.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { tooMany } from '../../../kernel/app-error.ts'
import { canonicalAddress } from '../../../kernel/cidr.ts'
import { isDateTime } from '../../../kernel/date-time.ts'
import { createGroupCommit } from '../../../kernel/group-commit.ts'
import { createRateLimiter } from '../../../kernel/rate-limit.ts'
import { isStorable } from '../../../kernel/text.ts'
import type { Arrival } from '../audit.queries.ts'
import { arrivalsOf, kept } from '../record.ts'
import { noteReported } from './ingest.queries.ts'

/** Bytes of a usual event. Longer ones count as several. */
const usualLength = 1024

type Deps = {
  db: Database
  now: () => Date
  /** Assigns sequence numbers to the events of one report. */
  place: (tx: Tx, events: readonly [Arrival, ...Arrival[]]) => Promise<void>
}
/** The events of one request, by the IDs that the gateway gave them. */
type Report = { tenantId: TenantId; gatewayId: string; at: Date; events: ReadonlyMap<string, Arrival> }

const byGateway = (a: Report, b: Report) => Number(a.gatewayId > b.gatewayId) - Number(a.gatewayId < b.gatewayId)

/** Ingests the events of gateways. Concurrent requests share a commit, and each event counts once. */
export function createIngest({ db, now, place }: Deps) {
  const join = createGroupCommit<Report, number>(
    (reports) =>
      db.acrossTenants(async (tx) => {
        const unknown = new Map<Report, ReadonlyMap<string, Arrival>>()
        // All requests insert IDs in the same order, which avoids deadlocks. They do so before the first sequence
        // number is assigned: a transaction that holds a head must not wait.
        for (const report of reports.toSorted(byGateway)) {
          const events = new Map(report.events)
          for (const id of await noteReported(tx, report, events.keys())) events.delete(id)
          unknown.set(report, events)
        }
        for (const events of unknown.values()) {
          const [first, ...more] = events.values()
          if (first) await place(tx, [first, ...more])
        }
        return reports.map((report) => unknown.get(report)?.size ?? 0)
      }),
    // One item holds up to a thousand events or 1 MiB, so batch and queue are small.
    { tenantOf: ({ tenantId }) => tenantId, maxBatch: 4, maxQueue: 128, maxPerTenant: 64 },
  )

  const sent = createRateLimiter()

  function charge(actor: Actor<'gateway'>, count: number): void {
    // Known events count too. Each replica counts separately.
    const wait = sent.take(actor.principal.id, ingestion.eventsPerMinute, performance.now(), count)
    if (wait > 0) throw tooMany('events from this gateway', wait)
  }

  async function take(actor: Actor<'gateway'>, given: readonly GivenEvent[]) {
    charge(actor, given.length)
    const at = now()
    const rejected: { index: number; error: string }[] = []
    const events = new Map<string, Arrival>()
    const readEvent = eventReader(actor, at)
    for (const [index, e] of given.entries()) {
      const read = readEvent(e)
      if ('error' in read) rejected.push({ index, error: read.error })
      else if (!events.has(e.event_id)) events.set(e.event_id, read)
    }
    let size = 0
    for (const { record } of events.values()) size += record.length
    charge(actor, Math.max(0, Math.floor(size / usualLength) - given.length))
    const report = { tenantId: actor.tenantId, gatewayId: actor.principal.id, at, events }
    const accepted = events.size > 0 ? await join(report) : 0
    return { accepted, duplicate: given.length - rejected.length - accepted, rejected }
  }

  return {
    handlers: { ingestAuditEvents: ({ actor, body }) => take(actor, body.events) } satisfies Partial<Handlers>,
  }
}

type GivenEvent = Given<Contract['ingestAuditEvents']>['body']['events'][number]

/**
 * Reads the events of one report: each as it will be recorded, or the error. They are claims of the gateway. The
 * gateway is the actor; anything that it says about others is the target or a detail. The server sets the facts that it
 * observes itself (time, address, request).
 */
function eventReader(actor: Actor<'gateway'>, received: Date): (e: GivenEvent) => Arrival | { error: string } {
  const arrivalOf = arrivalsOf(actor, received)
  return (e) => {
    const kind = reportedKinds.find((known) => known === e.kind)
    if (!kind) return { error: 'kind must be a kind that a gateway may report (gateway_report.*)' }
    if (!isDateTime(e.at)) return { error: 'at is not a time (RFC 3339)' }
    const address = e.remote_ip === undefined ? undefined : canonicalAddress(e.remote_ip)
    if (e.remote_ip !== undefined && address === undefined) return { error: 'remote_ip must be an IP address' }
    if (!printable.test(e.event_id)) return { error: 'event_id must be printable ASCII without spaces' }
    if (!textsOf(e).every(isStorable))
      return { error: 'a string contains the character NUL or half of a surrogate pair' }
    const fields = {
      gateway_id: actor.id ?? '',
      gateway_event_id: e.event_id,
      gateway_time: new Date(e.at).toISOString(),
      ...(address !== undefined && { remote_ip: address }),
    }
    return arrivalOf(kind, fields, {
      ...(e.outcome && { outcome: e.outcome }),
      ...(e.target && { target: { type: e.target.type, id: e.target.id ?? null, name: e.target.name ?? null } }),
      ...(e.details && { details: cut(e.details) }),
    })
  }
}

/** Sorted as the record sorts its members. */
function cut(details: NonNullable<GivenEvent['details']>) {
  const members: typeof details = {}
  for (const name of Object.keys(details).sort()) {
    const value = details[name]!
    members[name] = typeof value === 'string' ? kept(value) : value
  }
  return members
}

const textsOf = ({ target, details = {} }: GivenEvent) =>
  [target?.id, target?.name, ...Object.values(details)].filter((value) => typeof value === 'string')

const printable = /^[!-~]+$/
