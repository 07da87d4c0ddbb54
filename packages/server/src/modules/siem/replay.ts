import type { Contract, Input } from '@holdfast/contract'
import type { Database, Tx } from '../../db/database.ts'
import type { Actor } from '../../kernel/actor.ts'
import { fail, failField } from '../../kernel/app-error.ts'
import type { Audit } from '../audit/index.ts'
import { type ConnectorRow, lockConnector } from './connectors.queries.ts'
import { noConnector, type ShownConnector } from './connectors.ts'
import { markReplaying, unmarkReplaying } from './dead-letters.queries.ts'
import type { Notices } from './delivery/notices.ts'
import { placeSince } from './delivery/record.queries.ts'
import { lockStream, type StreamRow, setStream } from './delivery/streams.queries.ts'
import { connectorTarget } from './target.ts'

type What = NonNullable<Input<Contract['replaySiemConnector']>['body']>
type ReplayDeps = {
  db: Database
  audit: Audit
  notices: Pick<Notices, 'recovered'>
  show: (tx: Tx, tenant: Actor['tenantId'], id: string) => Promise<ShownConnector>
}

/** Sends events or dead letters again. A parked connector continues. */
export function createEventReplay({ db, audit, notices, show }: ReplayDeps) {
  /**
   * Moves the stream back to an earlier position. Returns the number of events that are sent again. Pending replays of
   * dead letters are cancelled.
   */
  async function moveBack(tx: Tx, connector: ConnectorRow, stream: StreamRow, after_seq: number): Promise<number> {
    const state = connector.enabled ? 'flowing' : 'stopped'
    await unmarkReplaying(tx, connector)
    const run = { after_seq, replays: false, runs: stream.runs + 1 }
    await setStream(tx, stream, { state, ...run, problem: null, failing_since: null })
    return (stream.after_seq ?? 0) - after_seq
  }

  return async (actor: Actor, id: string, what: What): Promise<{ shown: ShownConnector; events: number }> => {
    const { from_seq, from, dead_letters } = what
    if ([from_seq, from, dead_letters].filter((given) => given !== undefined).length !== 1)
      fail('validation_error', 'give exactly one of from_seq, from and dead_letters')
    const since = from === undefined ? undefined : new Date(from)
    if (since && Number.isNaN(since.getTime()))
      failField('from', 'must be an RFC 3339 time that exists, such as 2026-01-31T09:30:00Z')
    const tenant = actor.tenantId
    const result = await db.inTenant(tenant, async (tx) => {
      const connector = (await lockConnector(tx, tenant, id)) ?? noConnector()
      const of = { tenant_id: tenant, connector_id: id }
      const stream = (await lockStream(tx, { tenant_id: tenant, stream_id: id })) ?? noConnector()
      let events: number
      if (dead_letters !== undefined) {
        events = await markReplaying(tx, of, dead_letters)
        const state = connector.enabled ? 'flowing' : 'stopped'
        if (events > 0) await setStream(tx, stream, { state, replays: true, problem: null, failing_since: null })
      } else {
        const next = (stream.after_seq ?? 0) + 1
        if (from_seq !== undefined && from_seq > next)
          failField('from_seq', `must not be greater than ${next}: otherwise the events between would not be sent`)
        const to = from_seq ?? (since && (await placeSince(tx, tenant, since))) ?? next
        events = await moveBack(tx, connector, stream, Math.min(to, next) - 1)
      }
      const target = connectorTarget(connector)
      const more = { target, details: { ...what } }
      await audit.record(tx, actor, 'siem_connector.replayed', { connector_id: target.id, events }, more)
      return { shown: await show(tx, tenant, id), events }
    })
    await notices.recovered(tenant)
    return result
  }
}
export type Replay = ReturnType<typeof createEventReplay>
