import type { Contract, Output } from '@holdfast/contract'
import type { SiemConnector } from '@holdfast/contract/siem'
import { encodeId } from '../../kernel/ids.ts'
import { second } from '../../kernel/time.ts'
import type { ShownConnector } from './connectors.ts'
import type { DeadLetterRow } from './dead-letters.queries.ts'
import { bomOf, originOf } from './destination.ts'

export const viewConnector = ({ connector: c, state }: ShownConnector): SiemConnector => ({
  connector_id: encodeId('siem_connector', c.connector_id),
  tenant_id: encodeId('tenant', c.tenant_id),
  name: c.name,
  kind: c.kind,
  enabled: c.enabled,
  format: c.format,
  host: c.destination.host,
  port: c.destination.port,
  index: c.destination.index,
  username: c.destination.username,
  bom: bomOf(c.kind, c.destination),
  tls: c.destination.tls,
  origin: originOf(c.destination.url),
  credential_set: c.credential_jwe !== null,
  previous_credential_until: (c.previous_signs && c.previous_until?.toISOString()) || null,
  delivery: deliveryOf(state),
  created_at: c.created_at.toISOString(),
  updated_at: c.updated_at.toISOString(),
})

function deliveryOf(s: ShownConnector['state']): SiemConnector['delivery'] {
  const state = stateOf(s)
  const age = s.oldest_at === null ? 0 : Math.max(0, s.as_of.getTime() - s.oldest_at.getTime())
  const isOn = state !== 'disabled'
  return {
    state,
    problem: s.problem,
    delivered_seq: s.after_seq ?? 0,
    // Of several events that were refused together, the faulty one is unknown.
    next_seq: (state === 'retrying' || state === 'parked') && s.batch_events === 1 ? s.next_seq : null,
    lag_events: isOn ? (s.lag_events ?? 0) : null,
    lag_seconds: isOn ? Math.floor(age / second) : null,
    delivered: s.delivered,
    failed: s.failed,
    dead_letters: s.dead,
    lost: s.lost,
    last_delivered_at: s.last_delivered_at?.toISOString() ?? null,
    failing_since: s.failing_since?.toISOString() ?? null,
    next_attempt_at: state === 'retrying' ? s.due_at.toISOString() : null,
  }
}
const stateOf = ({ state, failures }: ShownConnector['state']): SiemConnector['delivery']['state'] => {
  if (state === 'stopped') return 'disabled'
  if (state === 'parked') return 'parked'
  return failures > 0 ? 'retrying' : 'active'
}

export const viewDeadLetter = (d: DeadLetterRow): Output<Contract['listSiemDeadLetters']>['items'][number] => ({
  seq: d.seq,
  event_id: encodeId('audit_event', d.event_id),
  kind: d.kind,
  reason: d.reason,
  failed_at: d.failed_at.toISOString(),
  replaying: d.replaying,
})
