import { attestationStatuses } from '@holdfast/contract/posture'
import { reject } from '../errors.ts'
import { countOf, isObject, listOf, readSigned, textOf, timeOf } from './signed.ts'
import type { TrustStore } from './trust-store.ts'

/** A verified assertion of the control plane about a device. Only `affirming` means that the device can be trusted. */
export type PostureAssertion = {
  deviceId: string
  userId: string | null
  status: (typeof attestationStatuses)[number]
  /** Reasons why it is not affirming. */
  reasons: { code: string; checkId: string | null }[]
  checks: { id: string; passed: boolean }[]
  /** RFC 7638 thumbprint of the device's key, by which a caller can prove to be the device; null if it has none. */
  keyThumbprint: string | null
  /** Facts that the device reported, and the time of the report. */
  posture: Readonly<Record<string, unknown>>
  reportedAt: Date | null
  /** Unique to this assertion. */
  id: string
  issuedAt: Date
  expiresAt: Date
}

type AssertionOptions = {
  /** The public URL of the control plane. */
  issuer: string
  /** The requested nonce, base64url. Null: none was requested, so the assertion may be replayed during its life. */
  nonce: string | null
  /** The device that presented it, if known. */
  deviceId?: string
  now: Date
}

/** Media type of an EAT as JWT (RFC 9782). */
const typ = 'eat+jwt'
const audience = 'urn:holdfast:relying-party'
/** Tolerance in seconds for the clocks of relying parties. */
const skewSeconds = 30

/**
 * Verifies a posture assertion offline: its signature by a key of the trust set for this purpose only, tenant, issuer,
 * audience, life, nonce and device. Throws `VerificationError`: `malformed`, `wrong_type`, `bad_algorithm`,
 * `bad_signature`, `unknown_key`, `wrong_tenant`, `wrong_issuer`, `wrong_audience`, `expired`, `not_yet_valid`,
 * `wrong_nonce`, `wrong_device`, `trust_expired`.
 */
export function verifyPostureAssertion(
  assertion: string,
  trust: TrustStore,
  { issuer, nonce, deviceId, now }: AssertionOptions,
): PostureAssertion {
  const said = readSigned(assertion, { typ, key: trust.keysFor('posture', now) })
  if (said.tid !== trust.document.tenant_id) reject('wrong_tenant', 'the assertion belongs to another tenant')
  if (said.iss !== issuer) reject('wrong_issuer', 'the assertion has another issuer')
  if (!listOf(said.aud, 'aud').includes(audience)) reject('wrong_audience', 'the assertion is for another audience')
  const [issued, expires] = [countOf(said.iat, 'iat'), countOf(said.exp, 'exp')]
  const at = now.getTime() / 1000
  if (at >= expires) reject('expired', 'the assertion has expired')
  if (at + skewSeconds < issued) reject('not_yet_valid', 'the assertion is not valid yet')
  if ((said.eat_nonce ?? null) !== nonce) reject('wrong_nonce', 'the assertion was not made for this nonce')
  const device = textOf(said.sub, 'sub')
  if (deviceId !== undefined && device !== deviceId) reject('wrong_device', 'the assertion belongs to another device')

  const appraisal = objectOf(objectOf(said.submods, 'submods').device, 'submods.device')
  const found = objectOf(appraisal.ear_verifier_claims, 'ear_verifier_claims')
  const { reported_at, ...posture } = objectOf(said.posture, 'posture')
  return {
    deviceId: device,
    userId: said.uid === undefined ? null : textOf(said.uid, 'uid'),
    status:
      attestationStatuses.find((status) => status === appraisal.ear_status) ??
      reject('malformed', 'ear_status has an unknown value'),
    reasons: listOf(found.reasons, 'reasons').map(reasonOf),
    checks: listOf(found.checks, 'checks').map(checkOf),
    keyThumbprint: said.cnf === undefined ? null : textOf(objectOf(said.cnf, 'cnf').jkt, 'cnf.jkt'),
    posture,
    reportedAt: reported_at === null ? null : timeOf(reported_at, 'reported_at'),
    id: textOf(said.jti, 'jti'),
    issuedAt: new Date(issued * 1000),
    expiresAt: new Date(expires * 1000),
  }
}

const objectOf = (value: unknown, name: string): Record<string, unknown> =>
  isObject(value) ? value : reject('malformed', `${name} is not an object`)

function reasonOf(value: unknown): PostureAssertion['reasons'][number] {
  const { code, check_id } = objectOf(value, 'reasons')
  return { code: textOf(code, 'code'), checkId: check_id === null ? null : textOf(check_id, 'check_id') }
}

function checkOf(value: unknown): PostureAssertion['checks'][number] {
  const { id, passed } = objectOf(value, 'checks')
  return { id: textOf(id, 'id'), passed: passed === true }
}
