import type { Operation } from '@holdfast/contract'
import type { CredentialKind } from '@holdfast/contract/vocabulary'
import type { Actor, AnonymousCaller, RefusedCredential, Source, TenantId } from '../../kernel/actor.ts'
import { type AppError, badCredentials, type DeviceThrottled, tooMany } from '../../kernel/app-error.ts'
import { sourceBlock } from '../../kernel/cidr.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import { createRateLimiter, type RateLimit } from '../../kernel/rate-limit.ts'
import { createRepeatCounter } from '../../kernel/repeat-counter.ts'
import { storable } from '../../kernel/text.ts'
import type { AuditPort } from '../ports.ts'
import { refusedFields } from './refused-reads.ts'

type RefuseDeps = {
  audit: AuditPort
  log: Pick<Log, 'warn'>
  onError: (e: Error) => void
  /** Number of failed credentials per minute from one source, above which it must wait. */
  failuresPerMinute: number
  /** Returns the tenant that records unreadable requests without a credential. */
  tenantOfStrangers: () => Promise<TenantId | undefined>
  /** Called with each refused credential that was issued here, and the client's address. */
  attemptRefused: (credential: RefusedCredential, sourceIp: string) => void
}
/** Limit per tenant and replica and minute. Further throttled credentials share an event. */
const mostThrottled = 1000

/** Counted items hold no part of the presented credential. */
type Known = Omit<RefusedCredential, 'showsKey'>
type Unreadable = Source & { operation: Operation; error: AppError; block: string }
type Throttled = Source & { type: CredentialKind }
type Failed = Source & { credential: Known; block: string; isThrottled: boolean }

/**
 * Responses to unauthenticated callers: 401, and 429 for a source with too many failed credentials. They cost no
 * statement, and never affect a valid credential from the same address. A refused credential that was issued here is
 * recorded: the first of a minute per source, then their count. One that was never issued names no trustworthy tenant,
 * so it is only counted in the log.
 */
export function createRefuse(deps: RefuseDeps) {
  const { audit, log, onError, failuresPerMinute, tenantOfStrangers, attemptRefused } = deps
  const failures = createRateLimiter()
  let tenantId: TenantId | undefined
  let unknown = 0
  let toldAt = Number.NEGATIVE_INFINITY

  const failed = createRepeatCounter<Failed>({
    keyOf: ({ type, id, block, isThrottled }) =>
      isThrottled ? `throttled ${type} ${block}` : `${type} ${id} ${block}`,
    record: ({ credential: { of, reason }, block: _, isThrottled, ...source }, count) =>
      isThrottled
        ? audit.note(source, 'auth.throttled', { credential: of, refused: count }, { outcome: 'refused' })
        : noteRefused(audit, source, of, { reason, refused: count }),
    onError,
  })
  const unreadable = createRepeatCounter<Unreadable>({
    keyOf: ({ operation, block }) => `${operation} ${block}`,
    record: ({ operation, error, block: _, ...source }, refused) => {
      const details = { error: error.code, detail: storable(error.message, 512), refused }
      return audit.note(source, 'request.refused', refusedFields(operation, error.code), {
        outcome: 'refused',
        details,
      })
    },
    onError,
  })
  const throttled = createRepeatCounter<Throttled>({
    keyOf: ({ tenantId: its, type, id }) => `${its} ${type} ${id}`,
    record: (source, count) => noteThrottled(audit, source, count),
    onError,
    mostOfTenant: mostThrottled,
    overflow: (source) => ({ ...source, id: null, name: null, sourceIp: null, userAgent: null, requestId: null }),
  })

  function record(credential: Known, anonymous: AnonymousCaller, block: string, isThrottled: boolean): void {
    const { of, tenantId, id, name } = credential
    const source = { ...anonymous, tenantId, type: of, id: encodeId(of, id), name, origin: originOf[of] }
    const item = { ...source, credential, block, claim: null }
    failed.count({ ...item, isThrottled: false }).catch(onError)
    if (isThrottled) failed.count({ ...item, isThrottled }).catch(onError)
  }
  function countForeign(block: string): void {
    unknown++
    if (performance.now() - toldAt < 60_000) return
    log.warn(
      { source: block, refused: unknown },
      'credentials refused, because this deployment did not issue them; counted for one minute',
    )
    toldAt = performance.now()
    unknown = 0
  }

  return {
    credential: (refused: RefusedCredential | undefined, anonymous: AnonymousCaller): AppError => {
      const block = sourceBlock(anonymous.sourceIp)
      const wait = failures.take(block, failuresPerMinute, performance.now())
      if (refused) {
        const { showsKey: _, ...credential } = refused
        attemptRefused(refused, anonymous.sourceIp)
        record(credential, anonymous, block, wait > 0)
      } else countForeign(block)
      // A throttled source costs no signature check.
      if (wait === 0) return badCredentials(toldStatus(refused))
      return tooMany('invalid credentials from this address', wait)
    },
    /**
     * Records refusals after the body was read that no other record covers: an invalid sign-in request, and a token
     * that can't enroll.
     */
    late: async (
      operation: Operation,
      error: AppError,
      actor: Actor | null,
      anonymous: AnonymousCaller,
    ): Promise<void> => {
      const block = sourceBlock(anonymous.sourceIp)
      if (actor?.principal.kind === 'enrollment_token' && error.code === 'unauthorized') {
        const { tenantId: its, id, name } = actor.principal
        // An invalid proof is the cause; without a cause the token has no uses left.
        const reason = error.cause === undefined ? 'spent' : 'no_proof'
        record({ kind: 'refused', of: 'enrollment_token', tenantId: its, id, name, reason }, anonymous, block, false)
      } else if (!actor && (error.code === 'bad_request' || error.code === 'validation_error')) {
        // The id is cached, so that further requests cost no statement.
        tenantId ??= await tenantOfStrangers()
        const source = { type: 'address', id: null, name: anonymous.sourceIp, origin: 'api', claim: null } as const
        if (tenantId) await unreadable.count({ ...anonymous, ...source, tenantId, operation, error, block })
      }
    },
    /** Records a valid credential over its rate limit, then throws 429. */
    rate: async (actor: Actor, retryAfterSeconds: number, rateLimit: RateLimit | undefined): Promise<never> => {
      const { principal, ...source } = actor
      await throttled.count({ ...source, type: principal.kind })
      throw tooMany(`requests with this ${nameOf[actor.principal.kind]}`, retryAfterSeconds, rateLimit)
    },
    /** The same for a device, whose rate is checked with its proof. */
    device: async (error: DeviceThrottled, anonymous: AnonymousCaller): Promise<never> => {
      const { tenantId: its, deviceId, name } = error.device
      const id = encodeId('device', deviceId)
      await throttled.count({ ...anonymous, tenantId: its, type: 'device', id, name, origin: 'device', claim: null })
      throw error
    },
    /** Records all present counts, at a stop. */
    flush: async (): Promise<void> => {
      await failed.flush()
      await unreadable.flush()
      await throttled.flush()
    },
  }
}
export type Refuse = ReturnType<typeof createRefuse>

/** Only the device itself learns its status. */
const toldStatus = (refused: RefusedCredential | undefined) =>
  (refused?.reason === 'suspended' || refused?.reason === 'revoked') && refused.showsKey?.()
    ? refused.reason
    : undefined

const nameOf: Record<CredentialKind, string> = {
  session: 'session',
  api_key: 'API key',
  device: 'device',
  gateway: 'gateway',
  enrollment_token: 'enrollment token',
  enrollment_challenge: 'enrollment challenge',
}
const originOf = {
  api_key: 'api',
  device: 'device',
  gateway: 'gateway',
  enrollment_token: 'device',
  enrollment_challenge: 'device',
} as const

function noteThrottled(audit: AuditPort, source: Throttled, refused: number): Promise<void> {
  const more = { outcome: 'refused' } as const
  return source.type === 'api_key'
    ? audit.note(source, 'api_key.throttled', { key_id: source.id ?? '', refused }, more)
    : audit.note(source, 'auth.throttled', { credential: source.type, refused }, more)
}

function noteRefused(
  audit: AuditPort,
  source: Source,
  of: RefusedCredential['of'],
  why: { reason: RefusedCredential['reason']; refused: number },
): Promise<void> {
  const more = { outcome: 'refused' } as const
  const id = source.id ?? ''
  switch (of) {
    case 'api_key':
      return audit.note(source, 'api_key.refused', { key_id: id, ...why }, more)
    case 'device':
      return audit.note(source, 'device.refused', { device_id: id, ...why }, more)
    case 'gateway':
      return audit.note(source, 'gateway.refused', { gateway_id: id, ...why }, more)
    case 'enrollment_token':
      return audit.note(source, 'enrollment_token.refused', { token_id: id, ...why }, more)
    case 'enrollment_challenge':
      return audit.note(source, 'enrollment_challenge.refused', { challenge_id: id, ...why }, more)
  }
}
