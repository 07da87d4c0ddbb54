import { mostBlockSeconds, mostResources } from '@holdfast/contract/vpn-sessions'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { Allowance, Granted } from '../../../kernel/allowance.ts'
import { minute, second } from '../../../kernel/time.ts'
import type { Change } from '../../../memory/changes.ts'
import type { GatewaysDeps } from '../deps.ts'
import { disconnectedFrom } from '../truth/claims.queries.ts'
import { question } from '../truth/questions.queries.ts'
import { cutGraceMs, graceMs } from '../truth/verdict.ts'
import type { NewSession, Sample } from './metering.queries.ts'
import * as queries from './metering.queries.ts'

type Refused = { sessionId: string; error: string }
/** `opened`: how many sessions began with it; `kept`: those of them that are kept out. `told`: what its transaction has to record at its end; `moved`: sessions that began or ended. */
type Opened = { refused: Refused[]; opened: number; told: Change[]; kept: EndedSession[]; moved: string[] }
/** Sessions that are over although the gateway says that they run. */
export type EndedSession = { sessionId: string; reason: 'blocked' | typeof beyondLimit }
/** `doubtful`: devices that the gateway has let in although they may not connect, or say that they have left. */
type Begun = Opened & { doubtful: string[] }
type Taken = Opened & { unknownResources: string[] }
const nothing: Begun = { refused: [], opened: 0, told: [], kept: [], moved: [], doubtful: [] }
/** How many more sessions the tenant may have, and when these were seen. */
type Terms = { places: Allowance; seenAt: Date }
type Reporter = Pick<NewSession, 'gateway_id' | 'pool_id' | 'protocol'>

/** A block began this long ago at most. */
const blockedForMs = mostBlockSeconds * second + minute

/** What a report says of sessions: those that are there grow or end, others begin. In the transaction of the report. */
export function createMeteredSessions({ now }: Pick<GatewaysDeps, 'now'>) {
  /**
   * Opens what is not there. Whose device is kept out of the pool ends at once. Of the active sessions of a device in
   * the pool only the one that started last stays, whichever gateway has it; another gateway is told what it has to
   * end.
   */
  async function begin(
    tx: Tx,
    tenant: TenantId,
    gateway: Reporter,
    samples: readonly Sample[],
    { owners, seenAt, places }: Terms & { owners: Owners },
  ): Promise<Begun> {
    const at = now()
    const devices = await queries.findDevices(tx, tenant, devicesOf(samples))
    const since = new Date(at.getTime() - blockedForMs)
    const blocked = await queries.blockedDevices(tx, tenant, gateway.pool_id, [...devices.keys()], { at, since })
    const begun = samples.flatMap((s) => {
      const device = devices.get(s.deviceId)
      if (!device || owners.has(s.sessionId)) return []
      const isKeptOut = blocked.has(s.deviceId) && !s.ended
      return [sessionOf(isKeptOut ? { ...s, ended: true, endReason: 'blocked' } : s, device, gateway, seenAt)]
    })
    const { fitting, granted } = await fit(tx, tenant, gateway.pool_id, begun, { places, seenAt })
    const opened = new Set(await queries.openSessions(tx, granted, tenant, fitting))
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
    const told = [
      ...ended.filter((s) => s.gateway_id !== gateway.gateway_id).map((s) => s.session_id),
      ...kept.map((s) => s.sessionId),
    ]
    const refused = samples
      .filter((s) => !opened.has(s.sessionId))
      .map((s) => ({ sessionId: s.sessionId, error: whyNot(s, gateway.gateway_id, owners, devices) }))
    const running = made.filter((s) => s.state === 'active').map((s) => s.device_id)
    const left = running.length === 0 ? [] : await disconnectedFrom(tx, tenant, gateway.gateway_id, running)
    return {
      refused,
      opened: made.length,
      kept,
      moved: [...made, ...ended].map((s) => s.session_id),
      told: told.map((subject) => ({ kind: 'vpn_session', subject })),
      doubtful: [...made.filter((s) => s.defied_since !== null).map((s) => s.device_id), ...left],
    }
  }

  return {
    /**
     * Of `resources` what the policy or the session knows is kept; the rest is told, and the bytes of it in the
     * session's.
     */
    take: async (
      tx: Tx,
      tenant: TenantId,
      gateway: Reporter,
      given: readonly Sample[],
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

/** What a gateway says against what holds here is judged; of whom it has just let in, once it had the time to hear. */
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

/** The reason of a session that the plan has no room for; its gateway is told to end it. */
const beyondLimit = 'entitlement_exceeded'

/**
 * Of sessions that begin, those that do not fit the plan are over at once. One that takes the place of another of its
 * device takes none.
 */
async function fit(
  tx: Tx,
  tenant: TenantId,
  poolId: string,
  begun: readonly NewSession[],
  { places, seenAt }: Terms,
): Promise<{ fitting: NewSession[]; granted: Granted }> {
  const active = begun.filter((s) => s.state === 'active')
  if (active.length <= places.room()) return { fitting: [...begun], granted: places.take(active.length) }
  const placed = await queries.devicesInPool(tx, tenant, poolId, [...new Set(active.map((s) => s.device_id))])
  let room = places.room()
  const isIn = ({ state, device_id }: NewSession): boolean => {
    if (state !== 'active' || placed.has(device_id)) return true
    if (room < 1) return false
    room--
    placed.add(device_id)
    return true
  }
  const fitting = begun.map((s) =>
    isIn(s) ? s : { ...s, state: 'ended' as const, ended_at: seenAt, end_reason: beyondLimit },
  )
  const beyond = fitting.filter((s) => s.end_reason === beyondLimit).length
  const granted = places.take(places.room() - room)
  if (beyond > 0) places.refuse(beyond)
  return { fitting, granted }
}

/** A session that has bytes of a resource goes on counting them, also when the policy has lost it meanwhile. */
async function knowResources(
  tx: Tx,
  tenant: TenantId,
  gateway: Reporter,
  samples: readonly Sample[],
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

const idsOf = (samples: readonly Sample[]) => samples.map((s) => s.sessionId)
const devicesOf = (samples: readonly Sample[]) => [...new Set(samples.map((s) => s.deviceId))]

type Owners = Awaited<ReturnType<typeof queries.ownersOf>>
type Devices = Awaited<ReturnType<typeof queries.findDevices>>
type Device = Devices extends Map<string, infer D> ? D : never

/** A session as it begins, with what was known of the device then. */
const sessionOf = (s: Sample, device: Device, gateway: Reporter, seenAt: Date): NewSession => ({
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

function whyNot({ sessionId, deviceId }: Sample, gatewayId: string, owners: Owners, devices: Devices): string {
  const owner = owners.get(sessionId)
  if (owner !== undefined)
    return owner === gatewayId ? 'the session belongs to another device' : 'the session belongs to another gateway'
  return devices.has(deviceId) ? 'the session could not be stored' : 'unknown device'
}
