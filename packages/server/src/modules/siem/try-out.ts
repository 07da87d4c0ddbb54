import type { Kek } from '@holdfast/crypto'
import type { Database, Tx } from '../../db/database.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { second } from '../../kernel/time.ts'
import { type Audit, arrivalOf } from '../audit/index.ts'
import { findConnector } from './connectors.queries.ts'
import { noConnector } from './connectors.ts'
import { openTarget } from './credential.ts'
import type { Notices } from './delivery/notices.ts'
import { lockStream, setStream } from './delivery/streams.queries.ts'
import { encode } from './sinks/encode.ts'
import type { Sent, SinkDeps } from './sinks/sink.ts'
import { sendTo } from './sinks/sinks.ts'
import { connectorTarget } from './target.ts'

/** Longer than the time to detect a stalled receiver, so that the answer can describe the stall. */
const longestMs = 20 * second

type TryOutDeps = SinkDeps & { db: Database; audit: Audit; kek: Kek; notices: Pick<Notices, 'recovered'> }

/** Sends one test event, with sequence number 0 and not in the audit log, and returns the receiver's answer. */
export function createTryOut(deps: TryOutDeps) {
  const { db, audit, kek, notices, now, syslogOrigin } = deps

  /** Makes a parked connector continue: the test shows that the fault is fixed. */
  async function resume(tx: Tx, tenant_id: TenantId, stream_id: string): Promise<boolean> {
    const stream = await lockStream(tx, { tenant_id, stream_id })
    if (stream?.state !== 'parked') return false
    await setStream(tx, stream, { state: 'flowing', problem: null, failing_since: null })
    return true
  }

  return async (actor: Actor, id: string): Promise<{ ok: boolean; answer: string; milliseconds: number }> => {
    const tenant = actor.tenantId
    const connector = (await db.inTenant(tenant, (tx) => findConnector(tx, tenant, id))) ?? noConnector()
    const target = connectorTarget(connector)
    const tested = { connector_id: target.id, ok: true }
    const { record } = arrivalOf(actor, 'siem_connector.tested', tested, { target, details: { test: true } }, now())
    const event = encode(connector, { seq: 0, hash: '00'.repeat(32), record }, syslogOrigin)
    const batch = { id: `${target.id}.test-${now().getTime()}`, events: [event] }
    const signal = AbortSignal.timeout(longestMs)
    const began = performance.now()
    const sent = await sendTo(deps, await openTarget(kek, connector), batch, signal).catch((e: unknown): Sent => {
      if (!signal.aborted) throw e
      return { outcome: 'later', answer: 'The receiver did not answer in time.' }
    })
    const milliseconds = Math.round(performance.now() - began)
    const refusal = sent.outcome === 'taken' ? sent.refused?.get(0) : undefined
    const ok = sent.outcome === 'taken' && refusal === undefined
    const answer = refusal ?? sent.answer
    const isResumed = await db.inTenant(tenant, async (tx) => {
      const more = { target, details: { answer } }
      await audit.record(tx, actor, 'siem_connector.tested', { connector_id: target.id, ok }, more)
      return ok && resume(tx, tenant, id)
    })
    if (isResumed) await notices.recovered(tenant)
    return { ok, answer, milliseconds }
  }
}
export type TryOut = ReturnType<typeof createTryOut>
