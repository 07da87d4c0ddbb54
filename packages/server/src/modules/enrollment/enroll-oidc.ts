import { contract } from '@holdfast/contract'
import type { SecuritySettings } from '@holdfast/contract/settings'
import { enrollmentNonce } from '@holdfast/crypto'
import type { Actor, Source, TenantId } from '../../kernel/actor.ts'
import { AppError, failField, unauthorized } from '../../kernel/app-error.ts'
import { sourceBlock } from '../../kernel/cidr.ts'
import { encodeId } from '../../kernel/ids.ts'
import { createRateLimiter } from '../../kernel/rate-limit.ts'
import { createTally } from '../../kernel/tally.ts'
import type { Audit } from '../audit/index.ts'
import type { EnrollmentGrant, Federation } from '../federation/index.ts'
import { type Admission, type DeviceInput, type Enrolled, refuseOpenly } from './admission.ts'
import type { ReadKey } from './proven-key.ts'

type OidcInput = {
  providerId: string
  id_token?: string
  code?: string
  code_verifier?: string
  redirect_uri?: string
  client_id?: string
  iss?: string
  device: DeviceInput
  public_key?: object
}

/**
 * By an identity provider. Its ID token says who the person is, and its nonce for which challenge and which key they
 * signed in: whoever steals the token enrolls nothing with it. Whatever can't be proved is the same 401; why is in the
 * audit event alone. How often that may happen to one source is bounded as for sign-ins, and what a request costs
 * before its challenge and its key are proved is two hashes and a signature.
 */
export function createEnrollByOidc({
  audit,
  settings,
  federation,
  readKey,
  admit,
  onError,
}: {
  audit: Audit
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  federation: Pick<Federation, 'identify'>
  readKey: ReadKey
  admit: Admission
  /** Hears of counts that could not be put on record. */
  onError: (e: Error) => void
}) {
  const failures = createRateLimiter()
  const throttled = createTally<Source>({
    keyOf: ({ tenantId, name }) => `${tenantId} ${name}`,
    record: (by, refused) =>
      audit.note(by, 'auth.throttled', { credential: 'id_token', refused }, { outcome: 'refused' }),
    onError,
  })

  const enroll = async (actor: Actor<'enrollment_challenge'>, input: OidcInput): Promise<Enrolled> => {
    const { tenantId } = actor
    const { presented, digest } = actor.principal
    const { providerId, device, public_key } = input
    const { login } = await settings(tenantId)
    const perMinute = (login.max_failures_per_ip * 60) / login.window_seconds
    const source = `${tenantId} ${sourceBlock(actor.sourceIp)}`
    const wait = failures.peek(source, perMinute, performance.now())
    if (wait > 0) {
      await throttled.count(strangerOf(actor))
      throw new AppError('rate_limited', 'too many failed enrollments from this address', { retryAfterSeconds: wait })
    }

    const refuse = async (reason: string, userId?: string): Promise<never> => {
      failures.take(source, perMinute, performance.now())
      const fields = { method: 'oidc', provider_id: encodeId('identity_provider', providerId), reason }
      const target = userId && { target: { type: 'user', id: encodeId('user', userId), name: null } }
      await audit.note(actor, 'device.enrollment_refused', fields, { outcome: 'refused', ...target })
      return unauthorized()
    }

    const key = readKey(presented, contract.enrollByOidc, { key: public_key, field: 'public_key' })
    if (!key)
      return failField(
        'DPoP',
        'prove the device key with a DPoP header (RFC 9449) whose ath is the hash of the challenge',
      )
    const nonce = enrollmentNonce(presented.token, key.jkt)
    const found = await federation.identify(actor, providerId, { ...grantOf(input), nonce })
    if ('refused' in found) return refuse(found.refused)
    const by = { method: 'oidc', providerId, userId: found.userId, ticket: digest } as const
    const terms = { ...found.terms, tags: [], group_ids: [], ephemeral_seconds: null }
    const enrolled = await admit(actor, by, key, { terms, device })
    if (typeof enrolled !== 'string') return enrolled
    switch (enrolled) {
      case 'token_spent':
      case 'provider_closed':
      case 'challenge_spent':
      case 'proof_replayed':
      case 'user_gone':
        return refuse(enrolled, found.userId)
      default:
        return refuseOpenly(enrolled, terms)
    }
  }
  /** `flush` writes what was counted lately; at stop. */
  return { enroll, flush: throttled.flush }
}
export type EnrollByOidc = ReturnType<typeof createEnrollByOidc>['enroll']

/** What is counted for a minute holds nothing that was presented. */
const strangerOf = ({ tenantId, sourceIp, userAgent, requestId, origin }: Actor): Source => ({
  ...{ tenantId, sourceIp, userAgent, requestId, origin },
  ...{ type: 'address', id: null, name: sourceIp, claim: null },
})

/** An ID token, or a code that an application of ours was given for one. */
function grantOf({ id_token, code, code_verifier, redirect_uri, client_id, iss }: OidcInput): EnrollmentGrant {
  const ofCode = { code, code_verifier, redirect_uri, client_id }
  const given = Object.entries({ ...ofCode, iss }).find(([, value]) => value !== undefined)
  if (id_token !== undefined) {
    if (given) failField(given[0], 'comes with a code; an ID token is enough')
    return { idToken: id_token }
  }
  const absent = (field: string): never =>
    failField(field, 'is needed: give id_token, or a code with all that it needs')
  return {
    code: code ?? absent(given ? 'code' : 'id_token'),
    verifier: code_verifier ?? absent('code_verifier'),
    redirectUri: redirect_uri ?? absent('redirect_uri'),
    clientId: client_id ?? absent('client_id'),
    iss,
  }
}
