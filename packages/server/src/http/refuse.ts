import type { CredentialKind } from '@holdfast/contract/vocabulary'
import type { Actor, RefusedCredential, Source } from '../kernel/actor.ts'
import { AppError } from '../kernel/app-error.ts'
import { sourceBlock } from '../kernel/cidr.ts'
import { encodeId } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import { createRateLimiter } from '../kernel/rate-limit.ts'
import { createTally } from '../kernel/tally.ts'
import type { Audit } from '../modules/audit/index.ts'
import { unauthorized } from './error-response.ts'

export type RefuseDeps = {
  audit: Pick<Audit, 'note'>
  log: Pick<Log, 'warn'>
  onError: (e: Error) => void
  /** How many credentials from one source may fail in a minute before it is told to wait. */
  failuresPerMinute: number
}
/** Who asked, without a credential that counts. */
export type Stranger = { sourceIp: string; userAgent: string | null; requestId: string | null }
type Failed = Source & { credential: RefusedCredential; block: string; isThrottled: boolean }

/**
 * The answers to whoever is not let in: 401, and 429 for a source from which too many credentials fail. They cost no
 * statement, and never concern a good credential from the same address. A credential that was issued here is put on
 * record, the first of a minute from each source and then their count; what was never issued names no tenant that could
 * be believed, and is counted in the log.
 */
export function createRefuse({ audit, log, onError, failuresPerMinute }: RefuseDeps) {
  const failures = createRateLimiter()
  let unknown = 0
  let toldAt = Number.NEGATIVE_INFINITY

  const failed = createTally<Failed>({
    keyOf: ({ type, id, block, isThrottled }) =>
      isThrottled ? `throttled ${type} ${block}` : `${type} ${id} ${block}`,
    record: ({ credential: { of, reason }, block: _, isThrottled, ...source }, count) =>
      isThrottled
        ? audit.note(source, 'auth.throttled', { credential: of, refused: count }, { outcome: 'refused' })
        : noteRefused(audit, source, of, { reason, refused: count }),
    onError,
  })
  const tooOften = createTally<Actor>({
    keyOf: ({ type, id }) => `${type} ${id}`,
    record: (actor, count) =>
      audit.note(actor, 'api_key.throttled', { key_id: actor.id ?? '', refused: count }, { outcome: 'refused' }),
    onError,
  })

  function record(credential: RefusedCredential, stranger: Stranger, block: string, isThrottled: boolean): void {
    const { of, tenantId, id, name } = credential
    const source = { tenantId, type: of, id: encodeId(of, id), name, origin: originOf[of], ...stranger }
    const item = { ...source, credential, block, claim: null }
    failed.count({ ...item, isThrottled: false }).catch(onError)
    if (isThrottled) failed.count({ ...item, isThrottled }).catch(onError)
  }
  function tell(block: string): void {
    unknown++
    if (performance.now() - toldAt < 60_000) return
    log.warn({ source: block, refused: unknown }, 'credentials that were not issued here; counted for a minute')
    toldAt = performance.now()
    unknown = 0
  }

  return {
    credential: (refused: RefusedCredential | undefined, stranger: Stranger): AppError => {
      const block = sourceBlock(stranger.sourceIp)
      const wait = failures.take(block, failuresPerMinute, performance.now())
      if (refused) record(refused, stranger, block, wait > 0)
      else tell(block)
      if (wait === 0) return unauthorized()
      return new AppError('rate_limited', 'too many failed credentials from this address', { retryAfterSeconds: wait })
    },
    /** A good credential that asks more often than it may. */
    rate: (actor: Actor, retryAfterSeconds: number): AppError => {
      if (actor.type === 'api_key') tooOften.count(actor).catch(onError)
      return new AppError('rate_limited', `too many requests with this ${nameOf[actor.principal.kind]}`, {
        retryAfterSeconds,
      })
    },
    /** Writes what was only counted so far; at stop. */
    flush: async (): Promise<void> => {
      await failed.flush()
      await tooOften.flush()
    },
  }
}
export type Refuse = ReturnType<typeof createRefuse>

const nameOf: Record<CredentialKind, string> = {
  session: 'session',
  api_key: 'API key',
  device: 'device',
  gateway: 'gateway',
  enrollment_token: 'enrollment token',
}
const originOf = { api_key: 'api', device: 'device', gateway: 'gateway', enrollment_token: 'device' } as const

function noteRefused(
  audit: Pick<Audit, 'note'>,
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
  }
}
