import { canonicalJson, type Purpose, peekDeviceCredential, type Signer, signJws } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { encodeId, idOf, missing, newUuid } from '../../../kernel/ids.ts'
import { second } from '../../../kernel/time.ts'
import { signedLifetimes } from '../../trust/index.ts'
import type { Fleet } from '../fleet.ts'
import { type Appraise, reportOf } from './appraisal.ts'
import { assertionType, type JudgedPosture, postureClaimsOf } from './claims.ts'
import { findReported, type Reported } from './posture.queries.ts'
import { type AttestationState, attestationStateOf, lastReportOf, shutOut } from './status.ts'

type AssertionRequest = { device_id?: string; user_id?: string; nonce?: string }
type Assertion = Pick<AttestationState, 'status' | 'reasons'> & { assertion: string; expires_at: string }

/** Maximum number of assertions kept for reuse. Each takes about 2 KB. */
const mostShared = 10_000
type Shared = { says: string; making: Promise<string>; iat: number; exp: number }

/**
 * Signed assertions about the posture of a device: its last report, judged by its policy's checks, in its current
 * state.
 */
export function createAssertions({
  db,
  fleet,
  trust,
  appraise,
  publicUrl,
  now,
}: {
  db: Database
  fleet: Fleet
  trust: { signerFor: (tenant: TenantId, purpose: Purpose) => Promise<Signer> }
  appraise: Appraise
  publicUrl: string
  now: () => Date
}) {
  const shared = new BoundedMap<string, Shared>(mostShared)

  /** Loads everything needed for a judgement, so that the judgement itself is synchronous. */
  async function judgeOf(tenant: TenantId, reported: Reported): Promise<(nowMs: number) => JudgedPosture> {
    const out = shutOut(reported)
    if (out) return () => ({ attestation: out, by: undefined, digest: null, checks: [] })
    const device = await fleet.device(tenant, reported.device_id)
    // Revoked since its row was read.
    if (!device) return missing('device')
    const by = await appraise(tenant, device)
    const report = reportOf(reported)
    const standingAt = (at: number) => {
      const result = by.appraise(report, at)
      return { result, standing: attestationStateOf(report, result, at) }
    }
    return (nowMs) => {
      // A judgement that would end within the current second is replaced by the following one.
      let judgedPosture = standingAt(nowMs)
      while (isOver(judgedPosture.standing, nowMs)) judgedPosture = standingAt(judgedPosture.standing.until)
      const { result, standing: attestation } = judgedPosture
      const checks = lastReportOf(result).map(({ id, passed }) => ({ id, passed }))
      return { attestation, by, digest: by.digestAt(nowMs), checks }
    }
  }

  /** Signs an assertion. One with the same claims is reused until half of its lifetime is over. */
  function sign(signer: Signer, claims: object, until: number, nowMs: number, key: string | undefined) {
    const says = canonicalJson({ ...claims, kid: signer.kid })
    const known = key === undefined ? undefined : shared.get(key)
    const at = inSeconds(nowMs)
    if (known?.says === says && known.iat <= at && at <= (known.iat + known.exp) / 2) return known
    const exp = Math.min(at + inSeconds(signedLifetimes.postureAssertion), inSeconds(until))
    const making = signJws(signer, assertionType, { ...claims, jti: newUuid(), iat: at, exp })
    const made: Shared = { says, making, iat: at, exp }
    if (key !== undefined) {
      shared.set(key, made)
      making.catch(() => shared.delete(key))
    }
    return made
  }

  return {
    of: async (actor: Actor, request: AssertionRequest): Promise<Assertion> => {
      const tenant = actor.tenantId
      const deviceId = askedDevice(actor, request)
      const { nonce } = request
      if (nonce !== undefined) requireNonce(nonce)
      const reported = (await db.inTenant(tenant, (tx) => findReported(tx, tenant, deviceId))) ?? missing('device')
      requireTuple(actor, request, reported)
      const signer = await trust.signerFor(tenant, 'posture')
      const judge = await judgeOf(tenant, reported)
      // No waiting from here until the assertion is stored, so that a later request cannot overtake this one.
      const nowMs = now().getTime()
      const judgedPosture = judge(nowMs)
      const claims = postureClaimsOf(publicUrl, tenant, reported, judgedPosture, nonce)
      const key = nonce === undefined ? `${tenant}/${deviceId}` : undefined
      const { status, reasons, until } = judgedPosture.attestation
      const { making, exp } = sign(signer, claims, until, nowMs, key)
      return { assertion: await making, expires_at: new Date(exp * 1000).toISOString(), status, reasons }
    },
  }
}
export type Assertions = ReturnType<typeof createAssertions>

const inSeconds = (ms: number): number => Math.floor(ms / second)
const isOver = ({ until }: AttestationState, nowMs: number): boolean => inSeconds(until) <= inSeconds(nowMs)

/** A device asks about itself. Any other caller names a device. */
function askedDevice({ principal }: Actor, { device_id }: AssertionRequest): string {
  if (principal.kind !== 'device')
    return idOf(
      'device',
      device_id ?? fail('bad_request', 'device_id: is required and must name the device of the assertion'),
    )
  if (device_id !== undefined && device_id !== encodeId('device', principal.id)) refuseTuple('device_id')
  return principal.id
}

/**
 * Rule 3: the credential was issued for exactly this tenant, user and device, and the device still belongs to that
 * user. The tenant in the request was compared with the credential's before (`http/admission/admit.ts`).
 */
function requireTuple({ principal }: Actor, { user_id }: AssertionRequest, reported: Reported): void {
  const userId = reported.user_id && encodeId('user', reported.user_id)
  if (principal.kind !== 'device') {
    if (user_id !== undefined && user_id !== userId) missing('device')
    return
  }
  const { uid } = peekDeviceCredential(principal.presented.token).claims
  if ((uid ?? null) !== userId)
    fail('forbidden', 'the credential was issued for a previous user of the device: renew it first')
  if (user_id !== undefined && user_id !== userId) refuseTuple('user_id')
}
const refuseTuple = (name: string): never =>
  fail('forbidden', `${name}: differs from the credential; a device may request only its own assertion`)

/** RFC 9711 §4.1: 8 to 64 bytes. Each value has one spelling only, so that comparing texts compares bytes. */
function requireNonce(nonce: string): void {
  const bytes = Buffer.from(nonce, 'base64url')
  if (bytes.toString('base64url') !== nonce || bytes.length < 8 || bytes.length > 64)
    fail('bad_request', 'nonce: must be 8 to 64 bytes in base64url without padding')
}
