import type { Database, Tx } from '../../db/database.ts'
import type { Actor } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { decodeId } from '../../kernel/ids.ts'
import { type Audit, readEvent } from '../audit/index.ts'
import { lockConnector } from './connectors.queries.ts'
import { noConnector, type ShownConnector } from './connectors.ts'
import { insertDeadLetters, isDeadLetter } from './dead-letters.queries.ts'
import type { Notices } from './delivery/notices.ts'
import { nextEvents } from './delivery/record.queries.ts'
import { lockStream, passOver, type StreamRow, setStream } from './delivery/streams.queries.ts'
import { connectorTarget } from './target.ts'

const everything = { until_seq: null, from_at: null, to_at: null }

type SetAsideDeps = {
  db: Database
  audit: Audit
  now: () => Date
  notices: Pick<Notices, 'recovered' | 'deadLetters'>
  show: (tx: Tx, tenant: Actor['tenantId'], id: string) => Promise<ShownConnector>
}

/** Makes the event that blocks a connector a dead letter, and continues after it. */
export function createSetAside({ db, audit, now, notices, show }: SetAsideDeps) {
  async function nextOf(tx: Tx, { tenant_id, after_seq }: StreamRow) {
    const [stored] = await nextEvents(tx, tenant_id, { ...everything, after_seq: after_seq ?? 0 }, 1)
    return stored && readEvent(stored)
  }
  const isHeldUp = ({ state, failures }: StreamRow) => state !== 'flowing' || failures > 0

  return async (actor: Actor, id: string, seq: number): Promise<{ shown: ShownConnector; changed: boolean }> => {
    const tenant = actor.tenantId
    const result = await db.inTenant(tenant, async (tx) => {
      const connector = (await lockConnector(tx, tenant, id)) ?? noConnector()
      const of = { tenant_id: tenant, connector_id: id }
      const stream = (await lockStream(tx, { tenant_id: tenant, stream_id: id })) ?? noConnector()
      const [from, next] = [stream.after_seq ?? 0, await nextOf(tx, stream)]
      if (next?.seq !== seq) {
        if (seq <= from && (await isDeadLetter(tx, of, seq)))
          return { shown: await show(tx, tenant, id), changed: false }
        return failField(
          'seq',
          next
            ? `must be ${next.seq}, the next event to be sent`
            : 'must be the next event to be sent, but no event is waiting',
        )
      }
      if (!isHeldUp(stream)) failField('seq', 'cannot be set aside: the connector is not blocked by this event')
      const reason = `An administrator set the event aside.${stream.problem ? ` Earlier problem: ${stream.problem}` : ''}`
      const event_id = decodeId('audit_event', next.event_id) ?? ''
      const deadLetter = { ...of, seq, event_id, kind: next.kind, reason, failed_at: now(), of_export: false }
      const added = await insertDeadLetters(tx, [deadLetter])
      // Sequence numbers before it that have no event any more.
      const lost = Math.max(0, seq - 1 - Math.max(from, stream.furthest_seq))
      await passOver(tx, stream, { from, to: seq, lost, added })
      const state = connector.enabled ? 'flowing' : 'stopped'
      await setStream(tx, stream, { state, problem: null, failing_since: null })
      if (added > 0 && stream.dead === 0) await notices.deadLetters(tx, of, reason)
      const target = connectorTarget(connector)
      const more = { target, details: { event_id: next.event_id, kind: next.kind } }
      await audit.record(tx, actor, 'siem_connector.set_aside', { connector_id: target.id, event_seq: seq }, more)
      return { shown: await show(tx, tenant, id), changed: true }
    })
    if (result.changed) await notices.recovered(tenant)
    return result
  }
}
export type SetAside = ReturnType<typeof createSetAside>
