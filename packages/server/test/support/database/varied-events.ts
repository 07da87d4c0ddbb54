import { canonicalJson } from '@holdfast/crypto'
import { uuidv7 } from 'uuidv7'
import { encodeId } from '../../../src/kernel/ids.ts'
import type { Kit } from '../deployment/deployment.ts'
import { withClient } from './test-database.ts'

type Made = {
  kind: string
  outcome: string
  actor: string
  type: string
  target: string
  source: string
  origin: string
}

const kinds = ['login.failed', 'login.succeeded', 'device.changed', 'user.changed']
export const start = Date.UTC(2026, 0, 31, 12)
export const minute = 60_000

/**
 * Events of every kind, one a minute. Every third event has an earlier time than those with neighbouring sequence
 * numbers.
 */
export const made = (i: number): Made & { at: Date; id: string } => ({
  kind: kinds[i % 4]!,
  outcome: ['success', 'success', 'refused'][i % 3]!,
  actor: `usr_${i % 5}`,
  type: i % 2 ? 'api_key' : 'session',
  target: `dev_${i % 7}`,
  source: `192.0.2.${i % 6}`,
  origin: i % 9 ? 'api' : 'gateway',
  at: new Date(start + (i % 3 ? i : i - 30) * minute),
  id: uuidv7(),
})
/** Adds this number of events to the audit log of a tenant. */
export async function fill(kit: Kit, tenant: Kit['tenant'], count: number) {
  const events = Array.from({ length: count }, (_, i) => made(i))
  const rows = events.map((e, i) => ({
    event_id: e.id,
    at: e.at,
    kind: e.kind,
    outcome: e.outcome,
    actor_id: e.actor,
    actor_name: `Zoë ${e.actor}`,
    target_id: e.target,
    target_name: e.target,
    source_ip: e.source,
    request_id: `req_${i}`,
    record: canonicalJson({
      event_id: encodeId('audit_event', e.id),
      tenant_id: encodeId('tenant', tenant),
      kind: e.kind,
      timestamp: e.at.toISOString(),
      outcome: e.outcome,
      source_ip: e.source,
      user_agent: null,
      origin: e.origin,
      request_id: `req_${i}`,
      actor: { type: e.type, id: e.actor, name: `Zoë ${e.actor}` },
      target: { type: 'device', id: e.target, name: e.target },
      operation: `op-${i % 8}`,
      ...(i % 2 ? { reason: `why_${i % 6}` } : { failure_reason: `oidc:why_${i % 6}` }),
      ...(i % 4 === 0 && { username: `Ana ${i % 12}` }),
      details: {
        ...(i === 5 && { usernames: ['Ana 4', 'ben'] }),
        operation: 'op-9',
        reason: 'why_9',
        note: `Number ${i} of "them" 100% \\ ${i % 50 === 7 ? 'Needle' : 'hay'} ${i % 1900 === 77 ? 'thimble' : ''}`,
        type: 'job',
        origin: 'job',
      },
    }),
  }))
  await withClient(kit.databaseUrl, (owner) =>
    owner.query(
      `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, actor_name, target_id, target_name,
       source_ip, request_id, record)
     select '${tenant}', r.* from jsonb_to_recordset($1::jsonb) as r (event_id uuid, at timestamptz, kind text,
       outcome text, actor_id text, actor_name text, target_id text, target_name text, source_ip text, request_id text,
       record text)`,
      [JSON.stringify(rows)],
    ),
  )
  return events
}
