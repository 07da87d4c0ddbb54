import { mostBlockSeconds, mostResources } from '@holdfast/contract/vpn-sessions'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { Allowance, LimitGrant } from '../../../kernel/allowance.ts'
import { minute, second } from '../../../kernel/time.ts'
import type { Change } from '../../../replication/changes.ts'
import type { GatewaysDeps } from '../deps.ts'
import { cutGraceMs, graceMs } from '../reconciliation/assess.ts'
import { disconnectedFrom } from '../reconciliation/claims.queries.ts'
import { question } from '../reconciliation/questions.queries.ts'
import type { MeteringSample, NewSession } from './metering.queries.ts'
import * as queries from './metering.queries.ts'

type Refused = { sessionId: string; error: string }
/**
 * `opened`: number of sessions that began; `kept`: those of them that ended at once. `told`: changes that must be
 * recorded at the end of the transaction; `moved`: sessions that began or ended.
 */
type Opened = { refused: Refused[]; opened: number; told: Change[]; kept: EndedSession[]; moved: string[] }
/** A session that has ended here although the gateway reports it as active. */
export type EndedSession = { sessionId: string; reason: 'blocked' | typeof beyondLimit }
/** `doubtful`: devices that the gateway carries although they may not connect, or that reported a disconnect. */
type Begun = Opened & { doubtful: string[] }
type Taken = Opened & { unknownResources: string[] }
const nothing: Begun = { refused: [], opened: 0, told: [], kept: [], moved: [], doubtful: [] }
/** Remaining number of sessions of the tenant, and the time to which the report refers. */
type Terms = { places: Allowance; seenAt: Date }
type Reporter = Pick<NewSession, 'gateway_id' | 'pool_id' | 'protocol'>

/** Maximum age of the start of a block that still applies. */
const blockedForMs = mostBlockSeconds * second + minute

/**
 * Sessions of a metering report: known ones are updated or ended, new ones begin. Runs in the transaction of the
 * report.
 */
export function createMeteredSessions({ now }: Pick<GatewaysDeps, 'now'>) {
  /**
   * Opens new sessions. A session of a blocked device ends at once. Only a device's newest active session in the pool
   * survives, on whichever gateway; another gateway is notified of the session that it must end.
   */
  async function begin(
    tx: Tx,
    tenant: TenantId,
    gateway: Reporter,
    samples: readonly MeteringSample[],
    { owners, seenAt, places }: Terms & { owners: Owners },
  ): Promise<Begun> {
    const at = now()
    const devices = await queries.findDevicesOfSessions(tx, tenant, devicesOf(samples))
    const since = new Date(at.getTime() - blockedForMs)
    const blocked = await queries.blockedDevices(tx, tenant, gateway.pool_id, [...devices.keys()], { at, since })
    const begun = samples.flatMap((s) => {
      const device = devices.get(s.deviceId)
      if (!device || owners.has(s.sessionId)) return []
      const isKeptOut = blocked.has(s.deviceId) && !s.ended
      return [sessionOf(isKeptOut ? { ...s, ended: true, endReason: 'blocked' } : s, device, gateway, seenAt)]
    })
    const { fitting, granted } = await fit(tx, tenant, gateway.pool_id, begun, { places, seenAt })
    const opened = new Set(await queries.insertSessions(tx, granted, tenant, fitting))
    const made = fitting.filter((s) => opened.has(s.session_id))
    const ended = await queries.endSuperseded(
      tx,
      tenant,
      gateway.pool_id,
      [...new Set(made.map((s) => s.device_id))],
      at,
    )
    const kept = made.flatMap((s): EndedSession[] =>
      s.end_reason === 'blocked' || s.end_reason === beyondLimit
        ? [{ sessionId: s.session_id, reason: s.end_reason }]
        : [],
    )
    const changes = [
      ...ended.filter((s) => s.gateway_id !== gateway.gateway_id).map((s) => s.session_id),
      ...kept.map((s) => s.sessionId),
    ]
    const refused = samples
      .filter((s) => !opened.has(s.sessionId))
      .map((s) => ({ sessionId: s.sessionId, error: refusalReason(s, gateway.gateway_id, owners, devices) }))
    const running = made.filter((s) => s.state === 'active').map((s) => s.device_id)
    const left = running.length === 0 ? [] : await disconnectedFrom(tx, tenant, gateway.gateway_id, running)
    return {
      refused,
      opened: made.length,
      kept,
      moved: [...made, ...ended].map((s) => s.session_id),
      told: changes.map((subject) => ({ kind: 'vpn_session', subject })),
      doubtful: [...made.filter((s) => s.defied_since !== null).map((s) => s.device_id), ...left],
    }
  }

  return {
    /**
     * Keeps bytes of `resources` that the policy or the session knows. The names of others are returned; their bytes
     * count only in the session's total.
     */
    take: async (
      tx: Tx,
      tenant: TenantId,
      gateway: Reporter,
      given: readonly MeteringSample[],
      { seenAt, places, isResource }: Terms & { isResource: (name: string) => boolean },
    ): Promise<Taken> => {
      if (given.length === 0) return { ...nothing, unknownResources: [] }
      const { samples, unknownResources } = await knowResources(tx, tenant, gateway, given, isResource)
      let owners = await queries.ownersOf(tx, tenant, idsOf(samples))
      const unknown = samples.filter((s) => !owners.has(s.sessionId))
      if (unknown.length > 0) {
        const deviceIds = devicesOf(unknown)
        await queries.holdNewSessions(tx, tenant, [...idsOf(unknown), ...deviceIds])
        await queries.lockSessions(tx, tenant, { sessionIds: idsOf(samples), poolId: gateway.pool_id, deviceIds })
        owners = await queries.ownersOf(tx, tenant, idsOf(samples))
      }
      const known = samples.filter((s) => owners.has(s.sessionId))
      const cutBefore = new Date(seenAt.getTime() - cutGraceMs)
      const grown =
        known.length === 0
          ? []
          : await queries.addToSessions(tx, tenant, gateway.gateway_id, known, { seenAt, cutBefore })
      const stored = new Set(grown.map((s) => s.session_id))
      const others = samples.filter((s) => !stored.has(s.sessionId))
      const begun = others.length === 0 ? nothing : await begin(tx, tenant, gateway, others, { owners, seenAt, places })
      await doubt(tx, tenant, gateway, [
        ...grown.filter((s) => s.defied).map((s) => ({ deviceId: s.device_id, judgeAt: seenAt })),
        ...begun.doubtful.map((deviceId) => ({ deviceId, judgeAt: new Date(seenAt.getTime() + graceMs) })),
      ])
      const over = known.flatMap((s) => (s.ended ? [s.sessionId] : []))
      return { ...begun, moved: [...begun.moved, ...over], unknownResources }
    },
  }
}

/**
 * Puts connections in question if the gateway's report contradicts the state here. Newly admitted devices get a grace
 * period.
 */
const doubt = (
  tx: Tx,
  tenantId: TenantId,
  { gateway_id: gatewayId }: Reporter,
  doubtful: readonly { deviceId: string; judgeAt: Date }[],
) =>
  question(
    tx,
    doubtful.map((d) => ({ ...d, tenantId, gatewayId })),
  )

/** End reason of a session that exceeds the plan. Its gateway is told to end it. */
const beyondLimit = 'entitlement_exceeded'

/** Ends new sessions that exceed the plan at once. A session that replaces another of its device does not count. */
async function fit(
  tx: Tx,
  tenant: TenantId,
  poolId: string,
  begun: readonly NewSession[],
  { places, seenAt }: Terms,
): Promise<{ fitting: NewSession[]; granted: LimitGrant }> {
  const active = begun.filter((s) => s.state === 'active')
  if (active.length <= places.room()) return { fitting: [...begun], granted: places.take(active.length) }
  const placed = await queries.devicesInPool(tx, tenant, poolId, [...new Set(active.map((s) => s.device_id))])
  let freePlaces = places.room()
  const isIn = ({ state, device_id }: NewSession): boolean => {
    if (state !== 'active' || placed.has(device_id)) return true
    if (freePlaces < 1) return false
    freePlaces--
    placed.add(device_id)
    return true
  }
  const fitting = begun.map((s) =>
    isIn(s) ? s : { ...s, state: 'ended' as const, ended_at: seenAt, end_reason: beyondLimit },
  )
  const beyond = fitting.filter((s) => s.end_reason === beyondLimit).length
  const granted = places.take(places.room() - freePlaces)
  if (beyond > 0) places.refuse(beyond)
  return { fitting, granted }
}

/** A session with bytes of a resource keeps counting them, even if the policy no longer has that resource. */
async function knowResources(
  tx: Tx,
  tenant: TenantId,
  gateway: Reporter,
  samples: readonly MeteringSample[],
  isResource: (name: string) => boolean,
) {
  const naming = samples.filter(({ resources }) => Object.keys(resources).length > 0)
  if (naming.length === 0) return { samples, unknownResources: [] }
  const had = await queries.resourcesOf(tx, tenant, gateway.gateway_id, idsOf(naming))
  const unknown = new Set<string>()
  const known = samples.map((s) => {
    const names = new Set(had.get(s.sessionId))
    const kept = Object.entries(s.resources).filter(([name]) => {
      if (names.has(name)) return true
      if (!isResource(name)) unknown.add(name)
      else if (names.size < mostResources) return names.add(name)
      return false
    })
    return { ...s, resources: Object.fromEntries(kept) }
  })
  return { samples: known, unknownResources: [...unknown].sort() }
}

const idsOf = (samples: readonly MeteringSample[]) => samples.map((s) => s.sessionId)
const devicesOf = (samples: readonly MeteringSample[]) => [...new Set(samples.map((s) => s.deviceId))]

type Owners = Awaited<ReturnType<typeof queries.ownersOf>>
type Devices = Awaited<ReturnType<typeof queries.findDevicesOfSessions>>
type Device = Devices extends Map<string, infer D> ? D : never

/** Row of a new session, with the device's properties at that time. */
const sessionOf = (s: MeteringSample, device: Device, gateway: Reporter, seenAt: Date): NewSession => ({
  ...gateway,
  session_id: s.sessionId,
  device_id: s.deviceId,
  user_id: device.user_id,
  state: s.ended ? 'ended' : 'active',
  started_at: s.startedAt,
  last_seen_at: seenAt,
  ended_at: s.ended ? seenAt : null,
  end_reason: s.ended ? s.endReason : null,
  source_ip: s.sourceIp,
  assigned_ip: s.assignedIp,
  client_version: device.client_version,
  auth_method: device.jkt === null ? 'device_credential' : 'device_key',
  policy_digest: s.policyDigest,
  assigned_digest: s.assignedDigest,
  gateway_state: s.says,
  defied_since: s.says === 'active' && !s.isLetIn ? seenAt : null,
  posture_verdict: device.verdict ?? 'unknown',
  rx_bytes: s.rxBytes,
  tx_bytes: s.txBytes,
  rx_packets: s.rxPackets,
  tx_packets: s.txPackets,
  denied_packets: s.deniedPackets,
  latest_handshake_at: s.latestHandshakeAt,
  source_port: s.sourcePort,
  resources: s.resources,
})

function refusalReason(
  { sessionId, deviceId }: MeteringSample,
  gatewayId: string,
  owners: Owners,
  devices: Devices,
): string {
  const owner = owners.get(sessionId)
  if (owner !== undefined)
    return owner === gatewayId ? 'the session belongs to another device' : 'the session belongs to another gateway'
  return devices.has(deviceId) ? 'the session could not be stored' : 'unknown device'
}
