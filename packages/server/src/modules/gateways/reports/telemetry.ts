import type { Given } from '@holdfast/contract'
import type { telemetry } from '@holdfast/contract/gateway-runtime'
import type { Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { createGroupCommit } from '../../../kernel/group-commit.ts'
import { decodeId, encodeId } from '../../../kernel/ids.ts'
import { markDevices, type SeenDevice } from '../../devices/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import { endedByAuthority, graceMs } from '../reconciliation/assess.ts'
import { type ConnectionClaim, unconfirmed, upsertClaims } from '../reconciliation/claims.queries.ts'
import { connectionClaimsOf } from '../reconciliation/claims.ts'
import { question } from '../reconciliation/questions.queries.ts'
import type { Registry } from '../registry/registry.ts'
import { acceptedInstant, acceptedRange, correctionOf } from './instant.ts'
import type { TelemetryEvent } from './telemetry.queries.ts'
import * as queries from './telemetry.queries.ts'

type Body = Given<typeof telemetry>['body']
type GivenEvent = Body['events'][number]
type Rejected = { index: number; error: string }
/** Events of one request, each id once. `gateways`: those of the tenant. */
type Item = {
  tenantId: TenantId
  deviceId: string
  at: Date
  events: TelemetryEvent[]
  gateways: ReadonlyMap<string, unknown>
}
/**
 * Number of an item's new events, the events about sessions of other devices, and sessions that the control plane
 * ended.
 */
type Written = { accepted: number; foreign: ReadonlySet<TelemetryEvent>; ended: readonly EndedHere[] }
/** A session that the control plane ended. */
type EndedHere = { sessionId: string; reason: string }

/** Telemetry of devices about their connections. Reports of many devices share a statement and a commit. */
export function createTelemetry({
  db,
  now,
  signals,
  registry,
}: Pick<GatewaysDeps, 'db' | 'now' | 'signals'> & { registry: Registry }) {
  async function claim(tx: Tx, claims: readonly ConnectionClaim[]): Promise<void> {
    if (claims.length === 0) return
    await upsertClaims(tx, claims)
    const judgeAt = new Date(now().getTime() + graceMs)
    const doubtful = await unconfirmed(tx, claims)
    await question(
      tx,
      doubtful.map((d) => ({ tenantId: d.tenant_id, deviceId: d.device_id, gatewayId: d.gateway_id, judgeAt })),
    )
  }

  const write = (batch: Item[]): Promise<Written[]> =>
    db.acrossTenants(async (tx) => {
      const ofSessions = batch.flatMap((i) => i.events.filter((e) => e.sessionId !== null))
      const own = new Map(
        ofSessions.length === 0
          ? []
          : (await queries.ownSessions(tx, ofSessions)).map((r) => [keyOf(r.device_id, r.session_id), r]),
      )
      const foreign = new Set(ofSessions.filter((e) => !own.has(keyOf(e.deviceId, e.sessionId ?? ''))))
      const items = batch.map((i) => ({ ...i, events: i.events.filter((e) => !foreign.has(e)) }))
      // Locks the devices until commit: a concurrent request with the same event waits, and then finds it.
      const seen = newest(items.map(seenOf))
      await markDevices(tx, seen)
      for (const tenant of new Set(seen.flatMap((s) => (s.applied ? [s.tenantId] : []))))
        signals.tellAfter(tx, tenant, 'adoption', 'many')
      const events = new Map(items.flatMap((i) => i.events.map((e) => [keyOf(e.deviceId, e.eventId), e])))
      for (const known of await queries.knownEvents(tx, [...events.values()]))
        events.delete(keyOf(known.device_id, known.event_id))
      const inserted = await queries.insertEvents(tx, [...events.values()])
      const isNew = new Set(inserted.map((r) => keyOf(r.device_id, r.event_id)))
      // Includes sessions that no gateway has reported: the device's own report counts.
      await claim(
        tx,
        connectionClaimsOf(batch, (e) => own.get(keyOf(e.deviceId, e.sessionId ?? ''))?.gateway_id),
      )
      return items.map((i) => ({
        accepted: i.events.filter((e) => isNew.delete(keyOf(e.deviceId, e.eventId))).length,
        foreign,
        ended: [...new Set(i.events.flatMap((e) => e.sessionId ?? []))].flatMap((sessionId) => {
          const reason = own.get(keyOf(i.deviceId, sessionId))?.end_reason
          return reason && endedByAuthority.has(reason) ? [{ sessionId, reason }] : []
        }),
      }))
    })

  const join = createGroupCommit<Item, Written>(write, {
    tenantOf: ({ tenantId }) => tenantId,
    maxBatch: 500,
    maxQueue: 20_000,
    maxPerTenant: 5000,
  })

  return {
    take: async ({ tenantId, principal }: Actor<'device'>, { events: deviceEvents, sent_at }: Body) => {
      const at = now()
      const aheadMs = correctionOf(sent_at, at)
      const rejected: Rejected[] = []
      const events = new Map<string, TelemetryEvent>()
      const read = deviceEvents.map((e) => readEvent(tenantId, principal.id, e, { at, aheadMs }))
      for (const [index, e] of read.entries()) {
        if ('error' in e) rejected.push({ index, error: e.error })
        else if (!events.has(e.eventId)) events.set(e.eventId, e)
      }
      const { gateways } = await registry.of(tenantId)
      const item = { tenantId, deviceId: principal.id, at, events: [...events.values()], gateways }
      const { accepted, foreign, ended } = await join(item)
      for (const [index, e] of read.entries()) {
        const stored = 'error' in e ? undefined : events.get(e.eventId)
        if (stored && foreign.has(stored)) rejected.push({ index, error: noSession })
      }
      rejected.sort((a, b) => a.index - b.index)
      const ended_sessions = ended.map(({ sessionId, reason }) => ({
        session_id: encodeId('vpn_session', sessionId),
        reason,
      }))
      const answer = { accepted, duplicate: deviceEvents.length - rejected.length - accepted, rejected }
      return ended_sessions.length > 0 ? { ...answer, ended_sessions } : answer
    },
  }
}
export type Telemetry = ReturnType<typeof createTelemetry>

/** One message for a malformed, an unknown, a not yet known and a foreign session id. */
const noSession = 'no such VPN session of this device'
const keyOf = (deviceId: string, id: string) => `${deviceId}|${id}`

/** `aheadMs`: offset of the device's clock. */
function readEvent(
  tenantId: TenantId,
  deviceId: string,
  e: GivenEvent,
  { at: now, aheadMs }: { at: Date; aheadMs: number },
): TelemetryEvent | { error: string } {
  const at = acceptedInstant(e.at, now.getTime(), aheadMs)
  if (!at) return { error: `at ${acceptedRange}` }
  const sessionId = e.session_id === undefined ? null : decodeId('vpn_session', e.session_id)
  if (sessionId === undefined) return { error: noSession }
  const gatewayId = e.gateway_id === undefined ? null : decodeId('gateway', e.gateway_id)
  if (gatewayId === undefined) return { error: 'gateway_id is not the id of a gateway (gwy_…)' }
  if (e.kind === 'policy_applied' && e.policy_digest === undefined)
    return { error: 'policy_applied requires policy_digest' }
  return {
    tenantId,
    deviceId,
    eventId: e.event_id,
    at,
    kind: e.kind,
    sessionId,
    gatewayId,
    latencyMs: e.latency_ms ?? null,
    lossPercent: e.loss_percent ?? null,
    reason: e.reason ?? null,
    policyDigest: e.policy_digest ?? null,
  }
}

/** A time in the future, from a clock that is ahead, counts as now. */
function seenOf({ tenantId, deviceId, events, at: now }: Item): SeenDevice {
  let applied: SeenDevice['applied'] = null
  for (const { kind, at, policyDigest } of events) {
    if (kind !== 'policy_applied' || policyDigest === null) continue
    const when = at < now ? at : now
    if (!applied || when >= applied.at) applied = { digest: policyDigest, at: when }
  }
  return { tenantId, deviceId, at: now, applied }
}

function newest(seen: readonly SeenDevice[]): SeenDevice[] {
  const byDevice = new Map<string, SeenDevice>()
  for (const s of seen) {
    const known = byDevice.get(s.deviceId)
    const applied = known?.applied && (!s.applied || known.applied.at > s.applied.at) ? known.applied : s.applied
    byDevice.set(s.deviceId, { ...s, at: known && known.at > s.at ? known.at : s.at, applied })
  }
  return [...byDevice.values()]
}
