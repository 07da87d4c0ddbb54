import type { Tx } from '../../../db/database.ts'
import type { PostureVerdict } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { day } from '../../../kernel/time.ts'
import type { FleetDevice } from '../../devices/index.ts'
import type { TenantPolicy } from '../../policy/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { PoolRow } from '../registry/pools.queries.ts'
import type { GatewayRegistry, KnownGateway, Registry } from '../registry/registry.ts'
import { ownSessions } from '../reports/telemetry.queries.ts'
import { closedBy } from '../sync/own-part.ts'
import { poolAccessOf } from '../sync/pool-access.ts'
import { assessConnections, type DecisionNow, type Judgement } from './assess.ts'
import type { ConnectionKey, DeviceWord, SessionWord } from './witness-reports.queries.ts'
import * as queries from './witness-reports.queries.ts'

/** Age at which an ended session no longer says anything about a current connection. */
const spokenOfForMs = day

/** Cached state of this replica at one time. */
type Memory = {
  at: Date
  devices: ReadonlyMap<string, FleetDevice>
  policy: TenantPolicy
  directory: GatewayRegistry
}
type Said = {
  session: SessionWord | undefined
  claim: DeviceWord | undefined
  /**
   * End of the device's newest certificate in use. Null: it had certificates and none is in use. Undefined: it never
   * had one.
   */
  certificateEnd: Date | null | undefined
}
/** A connection with the reports of all sources and their assessment. */
export type WitnessedConnection = Judgement &
  Said & {
    key: ConnectionKey
    at: Date
    /** Undefined if the device was revoked or is unknown. */
    device: FleetDevice | undefined
    /** Posture verdict of the device; null if it has never reported. */
    posture: PostureVerdict | null
    poolId: string | null
    decision: DecisionNow & { allowedUntil: number | null }
  }

/** Combines the reports of the four sources. It reads only the requested part of the fleet. */
export function createConnections({
  fleet,
  policy,
  now,
  certificateEnds,
  registry,
}: Pick<GatewaysDeps, 'fleet' | 'policy' | 'now' | 'certificateEnds'> & { registry: Registry }) {
  return {
    /** Reads the cached state, before a transaction begins. */
    memory: async (tenant: TenantId): Promise<Memory> => {
      const [devices, current] = [await fleet.all(tenant), await policy.at(tenant)]
      return { devices, policy: current, directory: await registry.of(tenant), at: now() }
    },

    /** Returns connections in the order of the keys. `known`: sessions that were read already. */
    read: async (
      tx: Tx,
      tenant: TenantId,
      memory: Memory,
      keys: readonly ConnectionKey[],
      known: readonly SessionWord[] = [],
    ): Promise<WitnessedConnection[]> => {
      if (keys.length === 0) return []
      const sessions = new Map(known.map((s) => [keyOf(s.device_id, s.gateway_id), s]))
      const others = keys.filter((k) => k.gatewayId !== null && !sessions.has(keyOf(k.deviceId, k.gatewayId)))
      const endedSince = new Date(memory.at.getTime() - spokenOfForMs)
      if (others.length > 0)
        for (const s of await queries.selectSessionReports(tx, tenant, others, endedSince))
          sessions.set(keyOf(s.device_id, s.gateway_id), s)
      const deviceIds = [...new Set(keys.map((k) => k.deviceId))]
      const claims = await queries.selectDeviceReports(tx, tenant, deviceIds)
      const certificates = await certificateEnds(tx, tenant, deviceIds)
      const placed = await placedSince(tx, tenant, claims)
      const claimed = new Map(claims.filter((c) => !placed.has(c)).map((c) => [keyOf(c.device_id, c.gateway_id), c]))
      return keys.map((key) => {
        const of = keyOf(key.deviceId, key.gatewayId)
        const said = { session: sessions.get(of), claim: claimed.get(of) }
        return connectionOf(key, memory, { ...said, certificateEnd: certificates.get(key.deviceId) })
      })
    },
  }
}
export type Connections = ReturnType<typeof createConnections>

/**
 * Returns claims that name only a session, if a gateway has reported that session since. They belong to the connection
 * with that gateway.
 */
async function placedSince(tx: Tx, tenant: TenantId, claims: readonly DeviceWord[]): Promise<Set<DeviceWord>> {
  const unplaced = claims.filter((c) => c.gateway_id === null && c.session_id !== null)
  if (unplaced.length === 0) return new Set()
  const deviceKeys = unplaced.map((c) => ({ tenantId: tenant, deviceId: c.device_id, sessionId: c.session_id }))
  const reported = new Set((await ownSessions(tx, deviceKeys)).map((s) => s.device_id))
  return new Set(unplaced.filter((c) => reported.has(c.device_id)))
}

const keyOf = (deviceId: string, gatewayId: string | null) => `${deviceId}|${gatewayId ?? ''}`

function connectionOf(
  key: ConnectionKey,
  { at, devices, policy, directory }: Memory,
  { session, claim, certificateEnd }: Said,
): WitnessedConnection {
  const device = devices.get(key.deviceId)
  const gateway = key.gatewayId === null ? undefined : directory.gateways.get(key.gatewayId)
  const pool = gateway && directory.pools.get(gateway.pool_id)
  const poolId = gateway?.pool_id ?? session?.pool_id ?? null
  const decision = standingOf(policy, device, gateway && pool && { gateway, pool }, at.getTime())
  const reports = {
    session: session && wordsOf(session),
    device: claim && claimOf(claim),
    decision,
    lostCertificate: certificateEnd === null,
  }
  const posture = device?.posture ? policy.verdictOf(device, at.getTime()) : null
  const said = { session, claim, certificateEnd, device, posture }
  return { ...assessConnections(reports, at.getTime()), key, at, ...said, poolId, decision }
}

/** Returns whether the device would be admitted now, and the reason. `to` is undefined if there is no such gateway. */
function standingOf(
  policy: TenantPolicy,
  device: FleetDevice | undefined,
  to: { gateway: KnownGateway; pool: PoolRow } | undefined,
  at: number,
): WitnessedConnection['decision'] {
  const refused = (reason: string) => ({ allowed: false, reason, digest: null, allowedUntil: null })
  if (!device) return refused('revoked')
  if (!device.usable) return refused(device.isSuspended ? 'suspended' : 'pending')
  if (device.credentialUntil <= at) return refused('credential_expired')
  const { digest } = policy.variantOf(device, at)
  if (!to) return { ...refused('no_gateway'), digest }
  const closed = closedBy(to.gateway, to.pool)
  if (closed) return { ...refused(closed), digest }
  const access = poolAccessOf(policy, device, encodeId('gateway_pool', to.pool.pool_id), at)
  if (!access) return { ...refused('no_rule'), digest }
  const allowedUntil = Number.isFinite(access.until) ? access.until : null
  return { allowed: true, reason: 'allowed', digest, allowedUntil }
}

const wordsOf = (s: SessionWord) => ({
  sessionId: s.session_id,
  state: s.state,
  endReason: s.end_reason,
  startedAt: s.started_at.getTime(),
  endedAt: s.ended_at?.getTime() ?? null,
  gatewayState: s.gateway_state ?? s.state,
  gatewayAt: s.last_seen_at.getTime(),
  gatewayDigest: s.policy_digest,
  defiedSince: s.defied_since?.getTime() ?? null,
})

const claimOf = (c: DeviceWord) => ({
  state: c.state,
  sessionId: c.session_id,
  since: c.since.getTime(),
  at: c.said_at.getTime(),
  digest: c.policy_digest,
})
