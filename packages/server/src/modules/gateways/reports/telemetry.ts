import type { Given } from '@holdfast/contract'
import type { telemetry } from '@holdfast/contract/gateway-runtime'
import type { Actor } from '../../../kernel/actor.ts'
import { createGroupCommit } from '../../../kernel/group-commit.ts'
import { decodeId } from '../../../kernel/ids.ts'
import { markDevices, type Seen } from '../../devices/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import { acceptedInstant } from './instant.ts'
import type { Event } from './telemetry.queries.ts'
import * as queries from './telemetry.queries.ts'

type GivenEvent = Given<typeof telemetry>['body']['events'][number]
type Rejected = { index: number; error: string }
type Item = { events: Event[]; seen: Seen }

/** What devices saw of their connections: the reports of many devices share a statement and a commit. */
export function createTelemetry({ db, now }: Pick<GatewaysDeps, 'db' | 'now'>) {
  const join = createGroupCommit<Item, number>(write, {
    tenantOf: ({ seen }) => seen.tenantId,
    maxBatch: 500,
    maxQueue: 20_000,
    maxPerTenant: 5000,
  })

  /** How many of each item's events are new. */
  async function write(batch: Item[]): Promise<number[]> {
    const inserted = await db.acrossTenants(async (tx) => {
      const rows = await queries.insertEvents(
        tx,
        batch.flatMap((i) => i.events),
      )
      await markDevices(tx, newest(batch.map((i) => i.seen)))
      return rows
    })
    const isNew = new Set(inserted.map((r) => keyOf(r.device_id, r.event_id, r.at)))
    return batch.map((item) => item.events.filter((e) => isNew.delete(keyOf(e.deviceId, e.eventId, e.at))).length)
  }

  return {
    take: async (actor: Actor<'device'>, given: readonly GivenEvent[]) => {
      const at = now()
      const rejected: Rejected[] = []
      const events = new Map<string, Event>()
      for (const [index, e] of given.entries()) {
        const read = readEvent(actor, e, at)
        if ('error' in read) rejected.push({ index, error: read.error })
        else if (!events.has(read.eventId)) events.set(read.eventId, read)
      }
      const item: Item = { events: [...events.values()], seen: seenOf(actor, [...events.values()], at) }
      const accepted = await join(item)
      return {
        accepted,
        duplicate: given.length - rejected.length - accepted,
        rejected,
      }
    },
  }
}
export type Telemetry = ReturnType<typeof createTelemetry>

const keyOf = (deviceId: string, eventId: string, at: Date) => `${deviceId}|${at.getTime()}|${eventId}`

function readEvent({ tenantId, principal }: Actor<'device'>, e: GivenEvent, now: Date): Event | { error: string } {
  const at = acceptedInstant(e.at, now.getTime())
  if (!at) return { error: 'at must lie between 7 days ago and 5 minutes from now' }
  const gatewayId = e.gateway_id === undefined ? null : decodeId('gateway', e.gateway_id)
  if (gatewayId === undefined) return { error: 'gateway_id is not an id of a gateway (gwy_…)' }
  if (e.kind === 'policy_applied' && e.policy_digest === undefined)
    return { error: 'policy_applied says which policy_digest' }
  return {
    tenantId,
    deviceId: principal.id,
    eventId: e.event_id,
    at,
    kind: e.kind,
    sessionId: e.session_id ?? null,
    gatewayId,
    latencyMs: e.latency_ms ?? null,
    lossPercent: e.loss_percent ?? null,
    reason: e.reason ?? null,
    policyDigest: e.policy_digest ?? null,
  }
}

/** A device whose clock is ahead has not applied anything later than now. */
function seenOf({ tenantId, principal }: Actor<'device'>, events: readonly Event[], now: Date): Seen {
  let applied: Seen['applied'] = null
  for (const { kind, at, policyDigest } of events) {
    if (kind !== 'policy_applied' || policyDigest === null) continue
    const when = at < now ? at : now
    if (!applied || when >= applied.at) applied = { digest: policyDigest, at: when }
  }
  return { tenantId, deviceId: principal.id, at: now, applied }
}

function newest(seen: readonly Seen[]): Seen[] {
  const byDevice = new Map<string, Seen>()
  for (const s of seen) {
    const known = byDevice.get(s.deviceId)
    const applied = known?.applied && (!s.applied || known.applied.at > s.applied.at) ? known.applied : s.applied
    byDevice.set(s.deviceId, { ...s, at: known && known.at > s.at ? known.at : s.at, applied })
  }
  return [...byDevice.values()]
}
