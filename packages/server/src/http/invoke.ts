import { contract, type Endpoint, type Operation } from '@holdfast/contract'
import { entryPermissions, neededByFields, operationRule } from '@holdfast/contract/endpoint'
import type { Permission } from '@holdfast/contract/vocabulary'
import type { TSchema } from 'typebox'
import { type Actor, permissionsOf } from '../kernel/actor.ts'
import { fail } from '../kernel/app-error.ts'
import { Representation } from '../kernel/results.ts'
import { expecting } from '../kernel/version.ts'
import { Answer } from './answer/answer.ts'
import { createValidator } from './body/validate.ts'
import type { Call, Handlers } from './handlers.ts'
import { needsStepUp } from './run-endpoint.ts'

/** A call of an operation of the contract by name, with its input, without a network request. */
type OperationCall = { operation: string; params?: object; query?: object; body?: object }

/**
 * Invokes operations internally, with the same handlers and schemas as for requests. Permission and step-up, which the
 * pipeline checks for requests, are separate functions here.
 */
export const createInvoker = (handlers: Handlers) => ({
  /** Returns a permission that the call needs and the actor lacks; undefined if there is none. */
  lacks: (actor: Actor, { operation, body }: OperationCall): Permission | undefined => {
    const { endpoint } = operationNamed(operation)
    const rule = operationRule(endpoint, body)
    const needed = rule ? [rule.permission] : (entryPermissions(endpoint) ?? [])
    const all = [...needed, ...neededByFields(endpoint, body).map((n) => n.permission)]
    return all.find((permission) => !permissionsOf(actor).has(permission))
  },
  /** Throws 422 with the fields that break a schema. */
  validate: (schema: TSchema, value: unknown): void => createValidator(schema)(value),
  needsStepUp: ({ operation, body = {} }: OperationCall): boolean =>
    needsStepUp(operationNamed(operation).endpoint, body),
  run: async (actor: Actor, { operation, params = {}, query = {}, body = {} }: OperationCall): Promise<unknown> => {
    const { name, endpoint } = operationNamed(operation)
    if (endpoint.params) createValidator(endpoint.params)(params)
    if (endpoint.body) createValidator(endpoint.body)(body)
    const request: Call['request'] = {
      caller: { sourceIp: actor.sourceIp, userAgent: actor.userAgent, requestId: actor.requestId, origin: 'api' },
      isSameOrigin: undefined,
      usedOrigin: undefined,
      isForm: false,
      newKeyProof: undefined,
      lastEventId: undefined,
      announced: { length: undefined, digest: undefined },
      signal: new AbortController().signal,
    }
    const handle = handlers[name] as (call: Call) => unknown
    const expected = expecting(undefined)
    const result = await handle({ actor, params, query, body, request, hold: undefined, expected })
    if (result instanceof Representation) return result.content
    return result instanceof Answer ? result.body : result
  },
})
/** A stored operation of an earlier version may no longer exist. */
function operationNamed(operation: string): { name: Operation; endpoint: Endpoint } {
  if (!Object.hasOwn(contract, operation)) fail('validation_error', `unknown operation ${operation}`)
  const name = operation as Operation
  return { name, endpoint: contract[name] }
}
