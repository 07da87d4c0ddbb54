import type { ConnectionVerdict } from '@holdfast/contract/connection-truth'
import { minute, second } from '../../../kernel/time.ts'

/**
 * Time without a report after which a gateway is silent about a session. Gateways report once a minute, so this is two
 * missing reports.
 */
export const gatewaySilentMs = 150 * second
/** Maximum age of a device's report that it is connected, and of its policy. Devices repeat these reports. */
export const deviceSilentMs = 5 * minute
/** Grace period within which all sources should have reported a change after the first one. */
export const graceMs = 90 * second
/**
 * Gateways learn of the end of a session within a second. A report from within this time after the end may precede it.
 */
export const cutGraceMs = 5 * second

/** A session in the database, with its gateway's last report. Times are in ms. */
export type SessionReports = {
  sessionId: string
  state: 'active' | 'ended'
  endReason: string | null
  startedAt: number
  endedAt: number | null
  gatewayState: 'active' | 'ended'
  gatewayAt: number
  gatewayDigest: string | null
  defiedSince: number | null
}
/** The device's last report of the connection. */
export type DeviceReports = {
  state: 'connected' | 'disconnected'
  sessionId: string | null
  since: number
  at: number
  digest: string | null
}
/** Current result of the policy for the device. */
export type DecisionNow = { allowed: boolean; reason: string; digest: string | null }
export type WitnessReports = {
  session: SessionReports | undefined
  device: DeviceReports | undefined
  decision: DecisionNow
  /** True if the device had certificates and none of them is in use. */
  lostCertificate: boolean
}

type Field = 'state' | 'session_id' | 'authorization' | 'certificate' | 'policy_digest' | 'silence'
type Disagreement = {
  field: Field
  control_plane: string | null
  gateway: string | null
  device: string | null
  policy: string | null
}
/**
 * `outcome`: sources are known to disagree (found), may not have reported yet (pending), or agree or differ only in
 * policy or certificates (settled).
 */
export type Judgement = {
  verdict: ConnectionVerdict
  disagreements: Disagreement[]
  outcome: 'found' | 'pending' | 'settled'
}

const unsaid = { control_plane: null, gateway: null, device: null, policy: null }
/** End reasons by which the control plane forbids that any gateway carries the session. */
export const endedByAuthority = new Set(['admin', 'revoked', 'suspended', 'blocked', 'entitlement_exceeded'])

/**
 * Assesses the reports about a connection. A report contradicts another only if its source had time to learn of the
 * other, so a change in transit is no conflict.
 */
export function assessConnections(reports: WitnessReports, nowMs: number): Judgement {
  const findings = [
    carriesAgainstOurWord(reports, nowMs),
    claimsWhatNobodyCarries(reports, nowMs),
    carriesWhatItsDeviceLeft(reports, nowMs),
    namesAnotherSession(reports, nowMs),
    hasFallenSilent(reports, nowMs),
    carriesWithoutCertificate(reports, nowMs),
    differsInPolicy(reports, nowMs),
  ].filter((f) => f !== undefined)
  const verdict = severity.findLast((v) => findings.some((f) => f.verdict === v)) ?? 'consistent'
  const outcome = outcomes.find((o) => findings.some((f) => f.outcome === o)) ?? 'settled'
  return { verdict, outcome, disagreements: findings.map((f) => f.disagreement) }
}
const severity = ['stale', 'conflict', 'unauthorized'] as const
const outcomes = ['found', 'pending'] as const

type Says = Partial<Omit<Disagreement, 'field'>>
type Finding = Pick<Judgement, 'outcome'> & { verdict: (typeof severity)[number]; disagreement: Disagreement }
const found = (verdict: Finding['verdict'], field: Field, says: Says): Finding => ({
  verdict,
  outcome: 'found',
  disagreement: { ...unsaid, ...says, field },
})
const pending = (field: Field, says: Says): Finding => ({ ...found('stale', field, says), outcome: 'pending' })
/** Returns a conflict once the sources had time to learn of each other. */
const conflict = (isSettled: boolean, field: Field, says: Says): Finding =>
  isSettled ? found('conflict', field, says) : pending(field, says)

const isHeard = (s: SessionReports, nowMs: number) => nowMs - s.gatewayAt < gatewaySilentMs
const speaks = (d: DeviceReports | undefined, nowMs: number): d is DeviceReports =>
  d !== undefined && nowMs - d.at < deviceSilentMs
const isCarried = (s: SessionReports, nowMs: number) => s.gatewayState === 'active' && isHeard(s, nowMs)

function carriesAgainstOurWord({ session: s, device, decision }: WitnessReports, nowMs: number): Finding | undefined {
  if (!s || s.defiedSince === null || !isCarried(s, nowMs)) return undefined
  const says = { gateway: s.gatewayState, device: speaks(device, nowMs) ? device.state : null }
  const isSettled = couldHaveHeard(s, s.defiedSince, nowMs)
  if (!decision.allowed) {
    const all = { ...says, control_plane: s.state, policy: decision.reason }
    return isSettled ? found('unauthorized', 'authorization', all) : pending('authorization', all)
  }
  if (s.state !== 'ended') return undefined
  const all = { ...says, control_plane: `ended: ${s.endReason}` }
  if (!isSettled) return pending('state', all)
  return found(endedByAuthority.has(s.endReason ?? '') ? 'unauthorized' : 'conflict', 'state', all)
}

/** True if the gateway knew of the end when it reported, repeated its report, or had time for another report. */
const couldHaveHeard = (s: SessionReports, defiedSince: number, nowMs: number): boolean =>
  (s.endedAt !== null && defiedSince - s.endedAt >= cutGraceMs) ||
  s.gatewayAt - defiedSince >= cutGraceMs ||
  nowMs - defiedSince >= graceMs

/** The device reports a connection that no gateway carries. A silent gateway is a silence, not a conflict. */
function claimsWhatNobodyCarries({ session: s, device: d }: WitnessReports, nowMs: number): Finding | undefined {
  if (!speaks(d, nowMs) || d.state !== 'connected') return undefined
  if (s && (s.state === 'active' || (s.defiedSince !== null && isCarried(s, nowMs)))) return undefined
  const endedAt = s && (d.sessionId === null || d.sessionId === s.sessionId) ? s.endedAt : null
  const isSettled =
    nowMs - Math.max(d.since, endedAt ?? 0) >= graceMs && (endedAt === null || d.at - endedAt >= cutGraceMs)
  return conflict(isSettled, 'state', {
    control_plane: s ? s.state : null,
    gateway: s ? s.gatewayState : null,
    device: d.state,
  })
}

/** The gateway carries a connection that the device has left. A device reports a disconnect only once. */
function carriesWhatItsDeviceLeft({ session: s, device: d }: WitnessReports, nowMs: number): Finding | undefined {
  if (s?.state !== 'active' || !isCarried(s, nowMs) || d?.state !== 'disconnected') return undefined
  if (d.sessionId === null ? s.startedAt > d.since : d.sessionId !== s.sessionId) return undefined
  const isSettled = s.gatewayAt - d.since >= graceMs
  return conflict(isSettled, 'state', { control_plane: s.state, gateway: s.gatewayState, device: d.state })
}

function namesAnotherSession({ session: s, device: d }: WitnessReports, nowMs: number): Finding | undefined {
  if (s?.state !== 'active' || !speaks(d, nowMs) || d.state !== 'connected') return undefined
  if (d.sessionId === null || d.sessionId === s.sessionId) return undefined
  const isSettled = nowMs - Math.max(d.since, s.startedAt) >= graceMs && d.at - s.startedAt >= cutGraceMs
  const says = { control_plane: s.sessionId, gateway: s.sessionId, device: d.sessionId }
  return conflict(isSettled, 'session_id', says)
}

function hasFallenSilent({ session: s, device }: WitnessReports, nowMs: number): Finding | undefined {
  if (s?.state !== 'active' || isHeard(s, nowMs)) return undefined
  const seconds = Math.floor((nowMs - s.gatewayAt) / second)
  return found('stale', 'silence', {
    control_plane: s.state,
    gateway: `no report for ${seconds} s`,
    device: speaks(device, nowMs) ? device.state : null,
  })
}

/**
 * The gateway carries a device without a valid certificate. Gateways check certificates at the start of a session, so
 * the session may be older than the certificate's end.
 */
function carriesWithoutCertificate(reports: WitnessReports, nowMs: number): Finding | undefined {
  const { session: s, decision, lostCertificate } = reports
  if (!lostCertificate || !decision.allowed || s?.state !== 'active' || !isCarried(s, nowMs)) return undefined
  const says = { control_plane: 'no certificate in use', gateway: s.gatewayState }
  return { ...found('stale', 'certificate', says), outcome: 'settled' }
}

/** A source reports another policy digest: it has not caught up yet, since it can only enforce an older policy. */
function differsInPolicy({ session: s, device, decision }: WitnessReports, nowMs: number): Finding | undefined {
  if (s?.state !== 'active' || !decision.allowed) return undefined
  const gateway = isHeard(s, nowMs) ? s.gatewayDigest : null
  const reportedDigests = [gateway, speaks(device, nowMs) ? device.digest : null]
  if (reportedDigests.every((digest) => digest === null || digest === decision.digest)) return undefined
  const [, ofDevice = null] = reportedDigests
  const says = { control_plane: decision.digest, gateway, device: ofDevice }
  return { ...found('stale', 'policy_digest', says), outcome: 'settled' }
}
