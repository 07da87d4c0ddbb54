import type { Endpoint, Operation } from '@holdfast/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../kernel/actor.ts'
import type { AppError } from '../kernel/app-error.ts'
import type { Log } from '../kernel/log.ts'
import type { Admission } from './admit.ts'
import { sendError, toAppError } from './error-response.ts'
import type { Refuse } from './refuse.ts'

export type RefusalDeps = {
  log: Pick<Log, 'error'>
  /** Puts a refused write on record. */
  recordRefusal: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  /** Puts refused reads and all refusals with 429 on record: the first of a minute, and then their count. */
  recordRefusedRead: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  /** The same for who has no actor, or a token that enrolls nobody: the first of a minute, and then their count. */
  refusedLate: Refuse['late']
  /** Told of each refused request of a known caller, before anything is written. */
  attemptRefused: (actor: Actor, error: AppError, body: unknown) => void
}

/** Every refusal of an endpoint passes here, wherever it was made: it is put on record, then answered. */
export function answerRefusal(deps: RefusalDeps, name: Operation, { method }: Endpoint) {
  const { log, recordRefusal, recordRefusedRead, refusedLate, attemptRefused } = deps
  async function record({ actor, caller }: Admission, error: AppError): Promise<void> {
    if (!actor || error.code === 'unauthorized') return refusedLate(name, error, actor, caller)
    // A caller can repeat a throttled change at no cost, like a read.
    if (error.code === 'rate_limited') return recordRefusedRead(actor, name, error)
    if (method !== 'GET') return recordRefusal(actor, name, error)
    // A read that failed changed nothing and was not refused; the server's log has it.
    if (error.code !== 'internal_error') await recordRefusedRead(actor, name, error)
  }
  return async (thrown: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const error = toAppError(thrown)
    const { admission } = request
    if (admission?.actor) attemptRefused(admission.actor, error, request.body)
    try {
      await admission?.recorded
      if (admission) await record(admission, error)
    } catch (e) {
      return sendError(log, error.code === 'internal_error' ? error : e, request, reply)
    }
    return sendError(log, error, request, reply)
  }
}
