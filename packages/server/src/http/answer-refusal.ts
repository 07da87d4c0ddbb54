import type { Endpoint, Operation } from '@holdfast/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../kernel/actor.ts'
import type { AppError } from '../kernel/app-error.ts'
import type { Log } from '../kernel/log.ts'
import { sendError, toAppError } from './error-response.ts'
import type { Refuse } from './refuse.ts'

export type RefusalDeps = {
  log: Pick<Log, 'error'>
  /** Puts a refused write on record. */
  recordRefusal: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  /** The same for who has no actor, or a token that enrolls nobody: the first of a minute, and then their count. */
  refusedLate: Refuse['late']
}

/** Every refusal of an endpoint passes here, wherever it was made: a refused write is put on record, then answered. */
export const answerRefusal =
  ({ log, recordRefusal, refusedLate }: RefusalDeps, name: Operation, { audit }: Endpoint) =>
  async (thrown: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const error = toAppError(thrown)
    const isSilent = error.code === 'unauthorized' || error.code === 'rate_limited'
    const { admission } = request
    try {
      await admission?.recorded
      if (admission && audit) {
        const { actor, caller } = admission
        await (actor && !isSilent ? recordRefusal(actor, name, error) : refusedLate(name, error, actor, caller))
      }
    } catch (e) {
      return sendError(log, error.code === 'internal_error' ? error : e, request, reply)
    }
    return sendError(log, error, request, reply)
  }
