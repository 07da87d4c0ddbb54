import type { Output } from '@holdfast/contract'
import type { gatewayHealth, gatewayImpact } from '@holdfast/contract/gateway-health'
import type { Handlers } from '../../../http/handlers.ts'
import { failField } from '../../../kernel/app-error.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { second } from '../../../kernel/time.ts'
import { acceptedInstant } from '../reports/instant.ts'
import { steadyAfterMs } from '../reports/status.ts'
import { closedBy } from '../sync/own-part.ts'
import type { Health, HealthReads } from './health.ts'
import type { Impact } from './impact.ts'
import { problemsOf } from './problems.ts'

export const gatewayHealthHandlers = (health: HealthReads, impact: Impact, now: () => Date) =>
  ({
    gatewayHealth: async ({ actor, query }) => {
      const { pool_id, status, ...page } = query
      const filter = {
        ...(pool_id !== undefined && { poolId: idOf('gateway_pool', pool_id) }),
        ...(status !== undefined && { status }),
      }
      const { items, next_cursor, statuses, at } = await health.list(actor.tenantId, filter, page)
      return { items: items.map((h) => viewHealth(h, at.getTime())), next_cursor, summary: statuses }
    },
    gatewayImpact: async ({ actor, params, query }) => {
      const { since, outcome, ...page } = query
      const filter = {
        ...(since !== undefined && { since: acceptedInstant(since, now().getTime()) ?? failField('since', between) }),
        ...(outcome !== undefined && { outcome }),
      }
      const found = await impact.read(actor.tenantId, idOf('gateway', params.gateway_id), filter, page)
      return {
        gateway_id: params.gateway_id,
        status: found.status,
        status_reason: found.status_reason,
        since: found.since.toISOString(),
        others_serving: found.othersServing,
        counts: found.counts,
        items: found.items.map(viewAffected),
        next_cursor: found.next_cursor,
      }
    },
  }) satisfies Partial<Handlers>

const between = 'must be between 7 days ago and 5 minutes from now'

function viewHealth(h: Health, nowMs: number): Output<typeof gatewayHealth>['items'][number] {
  const { gateway, pool, activity: a, share, expectedSeq, inQuestion } = h
  const sessions = a?.active_sessions ?? 0
  const appliedSeq = a?.applied_policy_seq ?? null
  const isBehind = h.status !== 'never_seen' && (appliedSeq ?? 0) < expectedSeq
  const steadyAt = a?.up_since ? a.up_since.getTime() + steadyAfterMs : null
  const standsByUntil = steadyAt !== null && steadyAt > nowMs ? steadyAt : null
  const problems = problemsOf(
    {
      applyError: a?.apply_error ?? null,
      isBehind,
      clockOffsetMs: a?.clock_offset_ms ?? null,
      certificateEnd: a?.certificate_expires_at?.getTime() ?? null,
      standsByUntil,
      sessions,
      share,
      inQuestion,
      closed: closedBy(gateway, pool),
    },
    nowMs,
  )
  return {
    gateway_id: encodeId('gateway', gateway.gateway_id),
    name: gateway.name,
    pool_id: encodeId('gateway_pool', pool.pool_id),
    pool_name: pool.name,
    region: pool.region.code,
    status: h.status,
    status_reason: h.reason,
    problems,
    last_seen_at: a?.last_seen_at.toISOString() ?? null,
    heartbeat_age_seconds: a ? Math.max(0, Math.floor((nowMs - a.last_seen_at.getTime()) / second)) : null,
    up_since: a?.up_since?.toISOString() ?? null,
    stands_by_until: standsByUntil === null ? null : new Date(standsByUntil).toISOString(),
    drained_at: gateway.drained_at?.toISOString() ?? null,
    version: a?.version ?? gateway.version,
    active_sessions: sessions,
    capacity: share === null ? null : Math.floor(share),
    policy: {
      applied_digest: a?.applied_policy_digest ?? null,
      applied_seq: appliedSeq,
      applied_at: a?.applied_at?.toISOString() ?? null,
      expected_seq: expectedSeq,
      behind: isBehind,
    },
    trust_version: a?.applied_trust_version ?? null,
    clock_offset_ms: a?.clock_offset_ms ?? null,
    certificate_expires_at: a?.certificate_expires_at?.toISOString() ?? null,
    in_question: inQuestion,
  }
}

type FoundImpact = Awaited<ReturnType<Impact['read']>>
const viewAffected = (d: FoundImpact['items'][number]): Output<typeof gatewayImpact>['items'][number] => ({
  device_id: encodeId('device', d.device_id),
  device_name: d.names.of('device', d.device_id),
  user_id: d.user_id && encodeId('user', d.user_id),
  user_name: d.names.of('user', d.user_id),
  session_id: encodeId('vpn_session', d.session_id),
  outcome: d.outcome,
  last_seen_at: d.last_seen_at.toISOString(),
  ended_at: d.ended_at?.toISOString() ?? null,
  end_reason: d.end_reason,
  moved_to:
    d.now_gateway_id === null || d.now_session_id === null
      ? null
      : {
          gateway_id: encodeId('gateway', d.now_gateway_id),
          gateway_name: d.names.of('gateway', d.now_gateway_id),
          session_id: encodeId('vpn_session', d.now_session_id),
        },
})
