import { createHash } from 'node:crypto'
import type { Endpoint } from '@holdfast/contract'
import { type Kek, seal, unseal } from '@holdfast/crypto'
import type { FastifyRequest } from 'fastify'
import * as claims from '../../db/claims.ts'
import { background, type Database } from '../../db/database.ts'
import type { Actor, IdempotencyClaim, Principal } from '../../kernel/actor.ts'
import { AppError, fail, failField } from '../../kernel/app-error.ts'
import { newUuid } from '../../kernel/ids.ts'
import { Answer } from '../answer/answer.ts'

type IdempotencyDeps = {
  db: Database
  kek: Kek
  onError: (e: unknown) => void
  /** Thumbprint of the key that was proved together with an enrolling credential; null if there was no proof. */
  provenKeyOf: (principal: Principal<'enrollment_token' | 'enrollment_challenge'>, endpoint: Endpoint) => string | null
}

const header = 'Idempotency-Key'
const carriedOut =
  'the first request with this key succeeded, but its response was not stored: read the object that it changed'
const running = 'the first request with this key is still running: try again shortly'

const stillRunning = () =>
  new AppError('validation_error', `${header}: ${running}`, {
    errors: [{ field: header, message: running }],
    retryAfterSeconds: 1,
  })

/**
 * `Idempotency-Key` on POST (draft-ietf-httpapi-idempotency-key-header): within 24 hours the same caller's repetition
 * of a request gets the first response again, and the same key with another request is refused.
 *
 * The claim on a key is settled in the transaction of the change itself (`db/claims.ts`), so a change is made only once
 * after any failure. Later its response is repeated; if that was lost, the repetition reports that the change was made.
 * Responses are stored encrypted, since some contain a secret that is shown only once. Such a response is repeated only
 * for the proved key.
 */
export function createIdempotency({ db, kek, onError, provenKeyOf }: IdempotencyDeps) {
  async function run(
    endpoint: Endpoint,
    request: FastifyRequest,
    actor: Actor | null,
    work: () => Promise<unknown>,
  ): Promise<unknown> {
    const key = request.headers['idempotency-key']
    if (key === undefined || endpoint.method !== 'POST' || !actor) return work()
    if (typeof key !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(key))
      fail('bad_request', 'Idempotency-Key: must be 1 to 128 visible ASCII characters')
    if (endpoint.upload && request.headers['repr-digest'] === undefined)
      fail(
        'bad_request',
        'Idempotency-Key: an upload with this header also needs Repr-Digest, the digest of its content',
      )
    const { principal } = actor
    const enrolls = principal.kind === 'enrollment_token' || principal.kind === 'enrollment_challenge'
    const provenKey = enrolls ? provenKeyOf(principal, endpoint) : undefined
    const fingerprint = createHash('sha256')
      .update(`${request.method} ${request.url}\n${provenKey ?? ''}\n`)
      .update(bodyPrint(endpoint, request))
      .digest()
    const claim: IdempotencyClaim = {
      tenantId: actor.tenantId,
      principal: `${actor.type}:${actor.id}`,
      key,
      attempt: newUuid(),
    }
    const sealedFor = `idempotency_keys/${claim.principal}/${key}`

    const earlier = await db.inTenant(actor.tenantId, (tx) => claims.take(tx, claim, fingerprint))
    if (earlier) {
      if (!earlier.fingerprint.equals(fingerprint)) failField(header, 'was used for another request: use a new key')
      // The change was just made, and its response is about to be stored.
      if (earlier.state === 'started' || (earlier.answer_jwe === null && earlier.is_recent)) throw stillRunning()
      if (earlier.answer_jwe === null || provenKey === null) return failField(header, carriedOut)
      const { body, status } = JSON.parse((await unseal(kek, sealedFor, earlier.answer_jwe)).toString())
      return new Answer(body, { status, headers: { 'idempotency-replayed': 'true' } })
    }

    actor.claim = claim
    let result: unknown
    try {
      result = await work()
    } catch (e) {
      // A settled claim stays: the change was made, even if a later step failed.
      await db.inTenant(actor.tenantId, (tx) => claims.drop(tx, claim)).catch(onError)
      throw e
    }
    const body = result instanceof Answer ? result.body : result
    const status = (result instanceof Answer ? result.status : undefined) ?? endpoint.status ?? 200
    const answer = await seal(kek, sealedFor, Buffer.from(JSON.stringify({ body, status })))
    // The change is committed and its caller gets the response, even if it can't be stored for repetitions.
    await db.inTenant(actor.tenantId, (tx) => claims.keepAnswer(tx, claim, answer)).catch(onError)
    return result
  }

  return {
    run,
    /** Responses are repeated for a day. */
    forgetOld: () => db.acrossTenants(claims.forgetOld, background),
  }
}
/** For a streamed body only its headers are known. */
const bodyPrint = ({ upload }: Endpoint, { headers, longBody, body }: FastifyRequest): string | Buffer =>
  upload ? String(headers['repr-digest'] ?? '') : (longBody?.digest ?? JSON.stringify(body ?? null))

export type Idempotency = ReturnType<typeof createIdempotency>
