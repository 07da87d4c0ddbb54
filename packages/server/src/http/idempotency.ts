import { createHash } from 'node:crypto'
import type { Endpoint } from '@holdfast/contract'
import { type Kek, seal, unseal } from '@holdfast/crypto'
import type { FastifyRequest } from 'fastify'
import type { Database } from '../db/database.ts'
import type { Actor } from '../kernel/actor.ts'
import { fail } from '../kernel/app-error.ts'
import { Answer } from './answer.ts'

/** A key whose request never finished (the process ended) may be tried again after this long. */
const abandonedAfterSeconds = 120

/**
 * `Idempotency-Key` on POST (draft-ietf-httpapi-idempotency-key-header): within 24 hours the same caller's repetition
 * of the same request gets the first answer again, and the same key with another request is refused. Answers are kept
 * sealed, since some hold a secret that appears only once.
 */
export function createIdempotency({ db, kek }: { db: Database; kek: Kek }) {
  return {
    run: async (
      endpoint: Endpoint,
      request: FastifyRequest,
      actor: Actor | null,
      work: () => Promise<unknown>,
    ): Promise<unknown> => {
      const key = request.headers['idempotency-key']
      if (key === undefined || endpoint.method !== 'POST' || !actor) return work()
      if (typeof key !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(key))
        fail('bad_request', 'Idempotency-Key: must be 1 to 128 visible ASCII characters')
      const id = { tenant_id: actor.tenantId, principal: `${actor.type}:${actor.id}`, key }
      const fingerprint = createHash('sha256')
        .update(`${request.method} ${request.url}\n${JSON.stringify(request.body ?? null)}`)
        .digest()

      const earlier = await db.inTenant(actor.tenantId, async (tx) => {
        const claimed = await tx
          .insertInto('idempotency_keys')
          .values({ ...id, fingerprint })
          .onConflict((c) =>
            c
              .columns(['tenant_id', 'principal', 'key'])
              .doUpdateSet({ created_at: new Date(), fingerprint })
              .where('idempotency_keys.answer_jwe', 'is', null)
              .where('idempotency_keys.created_at', '<', new Date(Date.now() - abandonedAfterSeconds * 1000)),
          )
          .returning('key')
          .executeTakeFirst()
        if (claimed) return undefined
        return tx
          .selectFrom('idempotency_keys')
          .selectAll()
          .where('tenant_id', '=', id.tenant_id)
          .where('principal', '=', id.principal)
          .where('key', '=', id.key)
          .executeTakeFirst()
      })

      const context = `idempotency_keys/${id.principal}/${id.key}`
      if (earlier) {
        if (!earlier.fingerprint.equals(fingerprint))
          fail('validation_error', 'Idempotency-Key: was used for another request; take a new key')
        if (earlier.answer_jwe === null)
          fail(
            'validation_error',
            'Idempotency-Key: the first request with this key is still running; ask again shortly',
          )
        const { body, status } = JSON.parse((await unseal(kek, context, earlier.answer_jwe)).toString())
        return new Answer(body, { status, headers: { 'idempotency-replayed': 'true' } })
      }
      const forget = () =>
        db.inTenant(actor.tenantId, (tx) =>
          tx
            .deleteFrom('idempotency_keys')
            .where('tenant_id', '=', id.tenant_id)
            .where('principal', '=', id.principal)
            .where('key', '=', id.key)
            .execute(),
        )
      let result: unknown
      try {
        result = await work()
      } catch (e) {
        await forget()
        throw e
      }
      const body = result instanceof Answer ? result.body : result
      const status = (result instanceof Answer ? result.status : undefined) ?? endpoint.status ?? 200
      const answer = await seal(kek, context, Buffer.from(JSON.stringify({ body, status })))
      await db.inTenant(actor.tenantId, (tx) =>
        tx
          .updateTable('idempotency_keys')
          .set({ answer_jwe: answer })
          .where('tenant_id', '=', id.tenant_id)
          .where('principal', '=', id.principal)
          .where('key', '=', id.key)
          .execute(),
      )
      return result
    },
  }
}
export type Idempotency = ReturnType<typeof createIdempotency>
