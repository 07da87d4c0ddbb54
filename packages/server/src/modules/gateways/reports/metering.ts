import type { Given } from '@holdfast/contract'
import type { metering } from '@holdfast/contract/gateway-runtime'
import { bulk, foreground } from '../../../db/database.ts'
import type { ResourceBytes } from '../../../db/tables/gateways.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { canonicalAddress } from '../../../kernel/cidr.ts'
import { decodeId, encodeId } from '../../../kernel/ids.ts'
import type { TenantPolicy } from '../../policy/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { Registry } from '../registry/registry.ts'
import { closedBy } from '../sync/own-part.ts'
import { poolAccessOf } from '../sync/pool-access.ts'
import type { Activity } from './activity.ts'
import { acceptedAheadMs, acceptedInstant, acceptedRange, correctionOf } from './instant.ts'
import { createMeteredSessions, type EndedSession } from './metered-sessions.ts'
import type { MeteringSample, ReportKey } from './metering.queries.ts'
import * as queries from './metering.queries.ts'

type Body = Given<typeof metering>['body']
type GivenSample = Body['samples'][number]
type Rejected = { index: number; error: string }
type MeteringResult = {
  accepted: number
  duplicate: number
  rejected: Rejected[]
  unknown_resources: string[]
  ended_sessions?: { session_id: string; reason: EndedSession['reason']; detail: string }[]
}

/** Reports of up to so many sessions use the timeout of ordinary requests; larger ones get the one for bulk work. */
const few = 1000
const oldestStart = Date.UTC(2000, 0, 1)

/**
 * Receives metering reports. A report counts once per (gateway, boot, sequence), and is durable when it is answered.
 */
export function createMetering({
  db,
  changes,
  fleet,
  policy,
  now,
  entitlements,
  meter,
  activity,
  registry,
  signals,
}: Pick<GatewaysDeps, 'db' | 'changes' | 'fleet' | 'policy' | 'now' | 'entitlements' | 'meter' | 'signals'> & {
  activity: Activity
  registry: Registry
}) {
  const stored = createMeteredSessions({ now })

  /**
   * Ends sessions of devices that may not connect, even if the gateway reports them as active. `pool`: the gateway's
   * pool; undefined if the gateway may admit no device.
   */
  async function judge(
    tenant: TenantId,
    current: TenantPolicy,
    pool: string | undefined,
    samples: MeteringSample[],
  ): Promise<MeteringSample[]> {
    const devices = await fleet.all(tenant)
    const at = now().getTime()
    return samples.map((s) => {
      const device = devices.get(s.deviceId)
      const isLetIn =
        device !== undefined && pool !== undefined && poolAccessOf(current, device, pool, at) !== undefined
      if (!device?.usable && !s.ended)
        return { ...s, ended: true, endReason: device ? 'suspended' : 'revoked', isLetIn }
      if (!device) return s
      return { ...s, assignedDigest: current.variantOf(device, at).digest, isLetIn }
    })
  }

  return {
    take: async (actor: Actor<'gateway'>, body: Body): Promise<MeteringResult> => {
      const tenant = actor.tenantId
      const gatewayId = actor.principal.id
      const at = now()
      const aheadMs = correctionOf(body.sent_at, at)
      const key = readKey(gatewayId, body, { at, aheadMs })
      const read = readSamples(body.samples, key, { at, aheadMs })
      const current = await policy.at(tenant)
      const { gateways, pools } = await registry.of(tenant)
      const own = gateways.get(gatewayId)
      const pool = own && pools.get(own.pool_id)
      const open = own && pool && !closedBy(own, pool) ? encodeId('gateway_pool', pool.pool_id) : undefined
      const samples = await judge(tenant, current, open, read.samples)
      const seenAt = key.intervalEnd < at ? key.intervalEnd : at
      const totals = {
        reportId: body.report_id,
        samples: body.samples.length,
        rxBytes: sum(body.samples, (s) => s.rx_bytes),
        txBytes: sum(body.samples, (s) => s.tx_bytes),
      }

      const outcome = await db.inTenant(
        tenant,
        async (tx) => {
          const places = await entitlements.hold(tx, tenant, 'sessions', actor)
          const gateway = await queries.lockReporter(tx, tenant, gatewayId)
          if (!gateway) return fail('forbidden', 'this gateway was deleted')
          if (!(await queries.insertReport(tx, tenant, key, totals))) return undefined
          const reporter = { ...gateway, gateway_id: gatewayId }
          const taken = await stored.take(tx, tenant, reporter, samples, {
            seenAt,
            places,
            isResource: (name) => current.names(name),
          })
          await meter(tx, tenant, { ...key, ...carriedBy(samples, taken.refused), sessions: taken.opened })
          if (taken.moved.length > 0) signals.tellAfter(tx, tenant, 'vpn_session', taken.moved)
          if (taken.told.length > 0) await changes.record(tx, tenant, taken.told)
          return taken
        },
        samples.length > few ? bulk : foreground,
      )

      await activity.report({
        tenantId: tenant,
        gatewayId,
        at,
        bootId: body.boot_id,
        version: null,
        activeSessions: body.load?.active_sessions ?? null,
        rxBps: body.load?.rx_bps ?? null,
        txBps: body.load?.tx_bps ?? null,
        policyDigest: null,
        policySeq: null,
        trustVersion: null,
        applyError: null,
        system: null,
        clockOffsetMs: null,
        certificateExpiresAt: null,
      })
      if (!outcome) return { accepted: 0, duplicate: body.samples.length, rejected: [], unknown_resources: [] }
      const refused = outcome.refused.flatMap(({ sessionId, error }) =>
        (read.indexesOf.get(sessionId) ?? []).map((index) => ({ index, error })),
      )
      const rejected = [...read.rejected, ...refused].sort((a, b) => a.index - b.index)
      const accepted = body.samples.length - rejected.length
      const ended_sessions = outcome.kept.map(({ sessionId, reason }) => ({
        session_id: encodeId('vpn_session', sessionId),
        reason,
        detail: whyEnded[reason],
      }))
      const answer = { accepted, duplicate: 0, rejected, unknown_resources: outcome.unknownResources }
      return ended_sessions.length > 0 ? { ...answer, ended_sessions } : answer
    },
  }
}
export type Metering = ReturnType<typeof createMetering>

const whyEnded: Record<EndedSession['reason'], string> = {
  blocked:
    'an administrator blocked the device in this pool for a time: refuse the device until the policy allows it again',
  entitlement_exceeded:
    'the tenant has reached the limit of its plan for VPN sessions: end this session, and accept the device again when another session has ended',
}

/** Refused samples are not counted. */
function carriedBy(samples: readonly MeteringSample[], refused: readonly { sessionId: string }[]) {
  const out = new Set(refused.map((r) => r.sessionId))
  const accepted = samples.filter((s) => !out.has(s.sessionId))
  const total = (of: (s: MeteringSample) => number) => atMost(accepted.reduce((n, s) => n + of(s), 0))
  return { rxBytes: total((s) => s.rxBytes), txBytes: total((s) => s.txBytes) }
}

const sum = (samples: readonly GivenSample[], of: (s: GivenSample) => number) =>
  atMost(samples.reduce((total, s) => total + of(s), 0))

/** Arrival time of a report, and the offset of its gateway's clock. */
type Clocks = { at: Date; aheadMs: number }

function readKey(gatewayId: string, body: Body, { at, aheadMs }: Clocks): ReportKey {
  const read = (text: string) => acceptedInstant(text, at.getTime(), aheadMs)
  const intervalStart = read(body.interval_start) ?? failField('interval_start', acceptedRange)
  const intervalEnd = read(body.interval_end) ?? failField('interval_end', acceptedRange)
  if (intervalEnd < intervalStart) failField('interval_end', 'must not be before interval_start')
  return { gatewayId, bootId: body.boot_id, sequence: body.sequence, intervalStart, intervalEnd }
}

/** Reads samples and sums them by session. */
export function readSamples(given: readonly GivenSample[], key: ReportKey, clocks: Clocks) {
  const bySession = new Map<string, MeteringSample>()
  const indexesOf = new Map<string, number[]>()
  const rejected: Rejected[] = []
  for (const [index, sample] of given.entries()) {
    const read = readSample(sample, key, clocks)
    if ('error' in read) {
      rejected.push({ index, error: read.error })
      continue
    }
    const known = bySession.get(read.sessionId)
    if (known && known.deviceId !== read.deviceId) {
      rejected.push({ index, error: 'another sample of this report assigns the session to another device' })
      continue
    }
    bySession.set(read.sessionId, known ? add(known, read) : read)
    indexesOf.set(read.sessionId, [...(indexesOf.get(read.sessionId) ?? []), index])
  }
  return { samples: [...bySession.values()], indexesOf, rejected }
}

function readSample(s: GivenSample, key: ReportKey, { at, aheadMs }: Clocks): MeteringSample | { error: string } {
  const sessionId = decodeId('vpn_session', s.session_id)
  if (!sessionId) return { error: 'session_id is not the id of a VPN session (vse_…)' }
  const deviceId = decodeId('device', s.device_id)
  if (!deviceId) return { error: 'unknown device' }
  const started = s.started_at === undefined ? key.intervalStart.getTime() : Date.parse(s.started_at) - aheadMs
  if (!(started >= oldestStart && started <= at.getTime() + acceptedAheadMs))
    return { error: 'started_at is not a time in the past' }
  const badAddress = (['source_ip', 'assigned_ip'] as const).find(
    (f) => s[f] !== undefined && canonicalAddress(s[f]) === undefined,
  )
  if (badAddress) return { error: `${badAddress} is not an IP address` }
  const handshake = s.latest_handshake_at === undefined ? null : Date.parse(s.latest_handshake_at) - aheadMs
  if (handshake !== null && !(handshake >= oldestStart && handshake <= at.getTime() + acceptedAheadMs))
    return { error: 'latest_handshake_at is not a time in the past' }
  return {
    sessionId,
    deviceId,
    says: s.state,
    ended: s.state === 'ended',
    endReason: s.end_reason ?? 'gateway',
    startedAt: new Date(Math.min(started, key.intervalEnd.getTime())),
    rxBytes: s.rx_bytes,
    txBytes: s.tx_bytes,
    rxPackets: s.rx_packets ?? 0,
    txPackets: s.tx_packets ?? 0,
    deniedPackets: s.denied_packets ?? 0,
    resources: sumResources((s.resources ?? []).map((r) => [r.resource, [r.rx_bytes, r.tx_bytes]])),
    latestHandshakeAt: handshake === null ? null : new Date(handshake),
    sourcePort: s.source_port ?? null,
    sourceIp: s.source_ip === undefined ? null : (canonicalAddress(s.source_ip) ?? null),
    assignedIp: s.assigned_ip === undefined ? null : (canonicalAddress(s.assigned_ip) ?? null),
    policyDigest: s.policy_digest ?? null,
    assignedDigest: null,
    isLetIn: false,
  }
}

const atMost = (n: number) => Math.min(n, Number.MAX_SAFE_INTEGER)

function sumResources(entries: readonly (readonly [name: string, bytes: readonly [number, number]])[]): ResourceBytes {
  const sums = new Map<string, [number, number]>()
  for (const [name, [rx, tx]] of entries) {
    const [rxBefore, txBefore] = sums.get(name) ?? [0, 0]
    sums.set(name, [atMost(rxBefore + rx), atMost(txBefore + tx)])
  }
  return Object.fromEntries(sums)
}

const latest = (a: Date | null, b: Date | null): Date | null => (a && b ? (a > b ? a : b) : (a ?? b))

const add = (a: MeteringSample, b: MeteringSample): MeteringSample => ({
  ...a,
  says: a.says === 'ended' ? a.says : b.says,
  ended: a.ended || b.ended,
  endReason: a.ended ? a.endReason : b.endReason,
  startedAt: a.startedAt < b.startedAt ? a.startedAt : b.startedAt,
  rxBytes: atMost(a.rxBytes + b.rxBytes),
  txBytes: atMost(a.txBytes + b.txBytes),
  rxPackets: atMost(a.rxPackets + b.rxPackets),
  txPackets: atMost(a.txPackets + b.txPackets),
  deniedPackets: atMost(a.deniedPackets + b.deniedPackets),
  resources: sumResources([...Object.entries(a.resources), ...Object.entries(b.resources)]),
  latestHandshakeAt: latest(a.latestHandshakeAt, b.latestHandshakeAt),
  sourcePort: b.sourcePort ?? a.sourcePort,
  sourceIp: b.sourceIp ?? a.sourceIp,
  assignedIp: b.assignedIp ?? a.assignedIp,
  policyDigest: b.policyDigest ?? a.policyDigest,
})
