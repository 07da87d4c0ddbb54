import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Appraiser } from './appraisal.ts'
import type { Reported } from './posture.queries.ts'
import type { AttestationState } from './status.ts'

/** RFC 9711 as JWT (RFC 9782). */
export const assertionType = 'eat+jwt'
/** Relying parties that check the posture of a device. No other signed object here is meant for them. */
const assertionAudience = 'urn:holdfast:relying-party'
/** EAT Attestation Results (EAR, draft-ietf-rats-ear-04). */
const profile = 'tag:ietf.org,2026:rats/ear#04'
const verifier = { developer: 'Holdfast', build: 'holdfast' }

/** Reported facts that relying parties may need. */
const summarised = {
  os: 'os.type',
  os_version: 'os.version',
  disk_encrypted: 'disk.encrypted',
  firewall: 'firewall.enabled',
  screen_lock: 'screen_lock.enabled',
  rooted: 'jailbroken',
  client_version: 'client.version',
} as const

export type JudgedPosture = {
  attestation: AttestationState
  by: Appraiser | undefined
  digest: string | null
  checks: CheckResult[]
}
type CheckResult = { id: string; passed: boolean }

/**
 * All claims except the times. Checks appear with their outcome but not their expected value, since the device can read
 * the assertion too.
 */
export function postureClaimsOf(
  issuer: string,
  tenant: TenantId,
  device: Reported,
  posture: JudgedPosture,
  nonce: string | undefined,
) {
  const { attestation, by, digest, checks } = posture
  const policies = by && by.version > 0 ? [`urn:holdfast:policy:${encodeId('tenant', tenant)}:${by.version}`] : []
  return {
    iss: issuer,
    sub: encodeId('device', device.device_id),
    aud: [assertionAudience],
    tid: encodeId('tenant', tenant),
    ...(device.user_id && { uid: encodeId('user', device.user_id) }),
    ...(device.jkt && { cnf: { jkt: device.jkt } }),
    ...(nonce !== undefined && { eat_nonce: nonce }),
    eat_profile: profile,
    ear_verifier_id: verifier,
    submods: {
      device: {
        ear_status: attestation.status,
        ear_appraisal_policy_ids: policies,
        ear_verifier_claims: { checks, reasons: attestation.reasons },
      },
    },
    ...(by && { policy: { channel: by.channel, version: by.version, digest } }),
    ...(device.facts_digest && { facts_digest: device.facts_digest }),
    posture: summaryOf(device),
  }
}

function summaryOf({ facts, reported_at }: Reported) {
  const known: Readonly<Record<string, unknown>> = facts ?? {}
  const reportedFacts = Object.entries(summarised).filter(([, name]) => Object.hasOwn(known, name))
  return {
    ...Object.fromEntries(reportedFacts.map(([claim, name]) => [claim, known[name]])),
    reported_at: reported_at?.toISOString() ?? null,
  }
}
