import type { Endpoint, Operation } from '@holdfast/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../../kernel/actor.ts'
import type { AppError } from '../../kernel/app-error.ts'
import type { Log } from '../../kernel/log.ts'
import { sendError, toAppError } from '../answer/error-response.ts'
import type { Admission } from './admit.ts'
import type { Refuse } from './refuse.ts'

export type RefusalDeps = {
  log: Pick<Log, 'error'>
  /** Records a refused write. */
  recordRefusal: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  /** Records refused reads and all refusals with 429: the first of a minute, then their count. */
  recordRefusedRead: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  /**
   * The same for a request without an actor, or for a token that can't enroll: the first of a minute, then their count.
   */
  refusedLate: Refuse['late']
  /** Called for each refused request of a known caller, before anything is recorded. */
  attemptRefused: (actor: Actor, error: AppError, body: unknown) => void
}

/** Handles every refusal of an endpoint, from any step: records it, then sends it. */
export function answerRefusal(deps: RefusalDeps, name: Operation, { method }: Endpoint) {
  const { log, recordRefusal, recordRefusedRead, refusedLate, attemptRefused } = deps
  async function record({ actor, caller }: Admission, error: AppError): Promise<void> {
    if (!actor || error.code === 'unauthorized') return refusedLate(name, error, actor, caller)
    // A caller can repeat a throttled change at no cost, like a read.
    if (error.code === 'rate_limited') return recordRefusedRead(actor, name, error)
    if (method !== 'GET') return recordRefusal(actor, name, error)
    // A read with an internal error changed nothing and was not refused. It is only in the server's log.
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
