import type { Contract, Given, Output } from '@holdfast/contract'
import type { Database } from '../../../db/database.ts'
import type { ListPlace, Pager } from '../../../db/page.ts'
import type { Handlers } from '../../../http/handlers.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { idOf, missing } from '../../../kernel/ids.ts'
import { day } from '../../../kernel/time.ts'
import type { Order } from './conditions.queries.ts'
import { type EventRow, findEvent, readEvents } from './events.queries.ts'
import { facetNamesOf, viewFacet } from './facets.ts'
import { filterOf } from './filter.ts'
import { countEvents } from './histogram.queries.ts'

type Deps = { db: Database; pager: Pager; now: () => Date; catchUp: (tenant: TenantId) => Promise<void> }

/**
 * Each handler first assigns outstanding sequence numbers, so that a client that has received the answer to a change
 * finds its event.
 */
export const eventHandlers = ({ db, pager, now, catchUp }: Deps) =>
  ({
    listAuditEvents: async ({ actor, query: { sort = '-timestamp', ...query } }) => {
      const tenant = actor.tenantId
      const filter = filterOf(query)
      await catchUp(tenant)
      const order = orderOf(sort)
      const placeOf = ({ at_key, seq, event_id }: EventRow): ListPlace => [
        order.by === 'seq' ? String(seq) : at_key,
        event_id,
      ]
      return db.inTenant(tenant, async (tx) => {
        const { items, next_cursor } = await pager.gather(
          { operation: 'listAuditEvents', tenant, query: { ...query, sort } },
          (after, most) => readEvents(tx, tenant, filter, { order, after, most }),
          placeOf,
        )
        return { items: items.map(view), next_cursor }
      })
    },

    getAuditEvent: async ({ actor: { tenantId }, params }) => {
      const eventId = idOf('audit_event', params.event_id)
      await catchUp(tenantId)
      const row = await db.inTenant(tenantId, (tx) => findEvent(tx, tenantId, eventId))
      return view(row ?? missing('audit_event'))
    },

    auditHistogram: async ({ actor: { tenantId }, query: { buckets = 24, facets: facetNames, ...query } }) => {
      const filter = filterOf(query)
      const to = filter.to ?? now()
      const from = filter.from ?? new Date(to.getTime() - day)
      const starts = startsOf(from, to, buckets)
      await catchUp(tenantId)
      const names = facetNamesOf(facetNames)
      const { counts, estimated, facets } = await db.inTenant(tenantId, (tx) =>
        countEvents(tx, tenantId, { ...filter, from, to }, { starts, facets: names }),
      )
      const total = counts.reduce((sum, n) => sum + n, 0)
      return {
        from: from.toISOString(),
        to: to.toISOString(),
        estimated,
        buckets: starts.map((start, i) => ({ from: start.toISOString(), count: counts[i] ?? 0 })),
        facets: names.map((name) => viewFacet(name, facets, { total, buckets })),
      }
    },
  }) satisfies Partial<Handlers>

const orderOf = (sort: NonNullable<Given<Contract['listAuditEvents']>['query']['sort']>): Order => ({
  by: sort.endsWith('seq') ? 'seq' : 'timestamp',
  descending: sort.startsWith('-'),
})

/** A bucket is at least 1 ms long. */
function startsOf(from: Date, to: Date, buckets: number): Date[] {
  const length = to.getTime() - from.getTime()
  if (length < buckets) fail('bad_request', 'to: must be later than from, by at least 1 ms for each bucket')
  return Array.from({ length: buckets }, (_, i) => new Date(from.getTime() + Math.floor((i * length) / buckets)))
}

type Recorded = Omit<Output<Contract['getAuditEvent']>, 'seq' | 'hash'>
const view = ({ record, seq, hash }: Pick<EventRow, 'record' | 'seq' | 'hash'>) => ({
  ...(JSON.parse(record) as Recorded),
  seq,
  hash: hash.toString('hex'),
})
