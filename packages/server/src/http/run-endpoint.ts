import type { IncomingMessage } from 'node:http'
import type { Endpoint, Operation } from '@holdfast/contract'
import { isRepeatable, neededByFields, operationRule } from '@holdfast/contract/endpoint'
import { deviceStatusHeader, type Permission } from '@holdfast/contract/vocabulary'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../kernel/actor.ts'
import { type AppError, fail, tooMany } from '../kernel/app-error.ts'
import { atOnce, createSlices, inSlices } from '../kernel/time-slice.ts'
import type { Admission, Admit } from './admission/admit.ts'
import { answerRefusal, type RefusalDeps } from './admission/answer-refusal.ts'
import type { Idempotency } from './admission/idempotency.ts'
import { Answer } from './answer/answer.ts'
import { tellRateLimit } from './answer/error-response.ts'
import { expectedOf, type GrantedHold, goneSignal, holdOf, preferenceApplied } from './answer/representation.ts'
import { send } from './answer/send.ts'
import type { LargeBodies, LargeBody } from './body/large-bodies.ts'
import { isForm, noUpload, unexpectedBody } from './body/read-body.ts'
import { createQueryReader, requireReadableQuery } from './body/read-query.ts'
import { ownTexts, refuseControls } from './body/text-rules.ts'
import { createLongValidator, createValidator } from './body/validate.ts'
import { hasBody } from './connection/body-timeout.ts'
import { type MinimumRate, withMinimumRate } from './connection/minimum-rate.ts'
import type { Call, Handlers, RequestFacts } from './handlers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    admission: Admission | null
    largeBody: LargeBody | null
  }
}

export type EndpointDeps = RefusalDeps & {
  handlers: Handlers
  admit: Admit
  idempotency: Idempotency
  /** Refuses a session without a recent one-time code, if the tenant requires one. */
  requireStepUp: (actor: Actor) => Promise<void>
  /** Limits concurrent work, per tenant and in total. */
  costly: <T>(tenant: string, work: () => T | Promise<T>) => Promise<T>
  takeLargeBody: LargeBodies
  /** Reports the operation of a request to the metrics, if they are configured. */
  isOf: ((request: IncomingMessage, operation: Operation) => void) | undefined
  /** Minimum transfer rate of uploads and downloads. */
  pace: MinimumRate
  /** Longest wait of a request in seconds (`Prefer: wait`). */
  longestWaitSeconds: number
}
type AnyHandler = (call: Call) => unknown

/**
 * Returns hooks and handler of one endpoint. Synchronous results are sent at once: an unchanged poll completes without
 * a promise.
 */
export function runEndpoint(deps: EndpointDeps, name: Operation, endpoint: Endpoint) {
  const own = deps.handlers[name] as AnyHandler
  // The total of a list (`countQuery`) costs as much as its facets.
  const isCostly = ({ query }: Call) => endpoint.costly || (query as { count?: unknown })?.count === 'estimate'
  const handler: AnyHandler = (call) =>
    isCostly(call) ? deps.costly(call.actor?.tenantId ?? '', () => own(call)) : own(call)
  const validateParams = endpoint.params && createValidator(endpoint.params)
  const validateBody = endpoint.body && createValidator(endpoint.body)
  const validateLongBody = endpoint.body && createLongValidator(endpoint.body)
  // Ignored SCIM attributes may contain any text. A handler that judges texts refuses the items of its list one by one.
  const refusesControls = endpoint.protocol !== 'scim' && !endpoint.judgesTexts
  const chosen = (body: unknown) => (endpoint.foreignTexts ? ownTexts(body) : body)
  // Entra ID appends its own flag (aadOptscim062020) to every request.
  const readQuery = createQueryReader(endpoint.query, { ignoresUnknown: endpoint.protocol === 'scim' })
  const isRead = endpoint.method === 'GET'
  const takesLarge = endpoint.bodyLimit !== undefined && !isRead

  const callOf = (request: FastifyRequest, reply: FastifyReply, admission: Admission): Call => {
    validateParams?.(request.params)
    requireReadableQuery(request.url)
    const query = readQuery(admission.search)
    if (isRead && hasBody(request.headers))
      fail('bad_request', 'this route accepts no body: send the request without one')
    const body = bodyOf(request)
    const { actor } = admission
    const hold = endpoint.waits ? holdOf(request.raw, reply.raw, deps.longestWaitSeconds) : undefined
    const expected = endpoint.ifMatch ? expectedOf(request.headers['if-match'], endpoint.ifMatch) : undefined
    return { actor, params: request.params, query, body, request: factsOf(request, reply, admission), hold, expected }
  }
  function bodyOf(request: FastifyRequest): unknown {
    // The handler reads the body. Nothing is read before.
    if (endpoint.upload) return withMinimumRate(request.raw, deps.pace)
    const body = endpoint.body ? (request.body === undefined ? {} : request.body) : unexpectedBody(request.body)
    if (!request.longBody) {
      validateBody?.(body)
      if (refusesControls) atOnce(refuseControls(chosen(body)))
    }
    return body
  }
  function tooManyLarge({ actor }: Admission, request: FastifyRequest, reply: FastifyReply): AppError | undefined {
    if (!actor || !('permissions' in actor.principal)) return undefined
    const bodySlot = deps.takeLargeBody(actor.tenantId, endpoint.bodyLimit ?? 0, request.raw, reply.raw)
    request.largeBody = bodySlot ?? null
    if (bodySlot) return undefined
    return tooMany('concurrent requests with a large body', 2)
  }
  /** Refuses a body by its headers, before it is read. */
  function refuseBody(admission: Admission, request: FastifyRequest, reply: FastifyReply): AppError | undefined {
    if (endpoint.upload) return noUpload(request)
    return takesLarge ? tooManyLarge(admission, request, reply) : undefined
  }
  async function change(request: FastifyRequest, reply: FastifyReply, admission: Admission): Promise<unknown> {
    if (admission.authenticateBody) await admission.authenticateBody(request)
    const rule = operationRule(endpoint, request.body)
    if (rule) requirePermission(admission.actor, rule.permission)
    if (request.longBody) {
      await validateLongBody?.(request.body)
      if (refusesControls) await inSlices(refuseControls(chosen(request.body)), createSlices())
    }
    const call = callOf(request, reply, admission)
    for (const { field, permission } of neededByFields(endpoint, call.body))
      requirePermission(admission.actor, permission, field)
    if (call.actor && needsStepUp(endpoint, call.body)) await deps.requireStepUp(call.actor)
    const status = rule?.status ?? endpoint.status ?? 200
    reply.code(status)
    return deps.idempotency.run({ ...endpoint, status }, request, call.actor, async () =>
      asRepeated(await handler(call)),
    )
  }
  /** An existing object was not created: 200. */
  const asRepeated = (result: unknown): unknown =>
    isRepeatable(endpoint) && isUnchanged(result) ? new Answer(result, { status: 200 }) : result
  const finish = (request: FastifyRequest, reply: FastifyReply, result: unknown, hold?: GrantedHold) => {
    const principal = request.admission?.actor?.principal
    if (principal?.kind === 'device' && principal.isPending) reply.header(deviceStatusHeader, 'pending')
    if (endpoint.immutable) reply.header('cache-control', 'private, max-age=86400, immutable')
    if (hold && !hold.isDeclined) reply.header('preference-applied', preferenceApplied(hold))
    return send(request, reply, result, deps.pace)
  }
  async function finishLater(
    request: FastifyRequest,
    reply: FastifyReply,
    admission: Admission,
    result: unknown,
    hold?: GrantedHold,
  ): Promise<void> {
    const answer = await result
    await admission.recorded
    // The rest of an upload that the handler did not need is not awaited.
    if (endpoint.upload && !request.raw.complete) reply.header('connection', 'close')
    await finish(request, reply, answer, hold)
    // A response that is being compressed is sent later. Until then the end of this function would count as its result.
    if (!reply.sent) await reply
  }

  return {
    onRequest: (request: FastifyRequest, reply: FastifyReply, done: (e?: Error) => void) => {
      deps.isOf?.(request.raw, name)
      const onAdmitted = (admission: Admission) => {
        request.admission = admission
        tellRateLimit(reply, admission.rateLimit)
        done(admission.refusal ?? refuseBody(admission, request, reply))
      }
      try {
        const admission = deps.admit(endpoint, request)
        if (admission instanceof Promise) admission.then(onAdmitted, done)
        else onAdmitted(admission)
      } catch (e) {
        done(e as Error)
      }
    },
    handler: (request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined => {
      const admission = request.admission ?? fail('internal_error', 'unexpected server error')
      if (!isRead) {
        const changing = change(request, reply, admission)
        return finishLater(request, reply, admission, request.largeBody?.during(changing) ?? changing)
      }
      const call = callOf(request, reply, admission)
      if (endpoint.status !== undefined) reply.code(endpoint.status)
      const result = handler(call)
      if (result instanceof Promise || admission.recorded)
        return finishLater(request, reply, admission, result, call.hold)
      return finish(request, reply, result, call.hold)
    },
    errorHandler: answerRefusal(deps, name, endpoint),
  }
}

const isUnchanged = (result: unknown): boolean =>
  typeof result === 'object' && result !== null && 'changed' in result && result.changed === false

/** Applies to kinds of credentials with a role. */
function requirePermission(actor: Actor | null, permission: Permission, of = 'this operation'): void {
  const { principal } = actor ?? {}
  if (principal && 'permissions' in principal && !principal.permissions.has(permission))
    fail('forbidden', `${of} needs the permission ${permission}`)
}

/** True if the endpoint requires a fresh one-time code for this body. */
export const needsStepUp = ({ stepUp }: Endpoint, body: unknown): boolean =>
  stepUp !== undefined &&
  Object.entries(stepUp).every(([field, value]) => (body as Record<string, unknown>)[field] === value)

const announcedIn = (headers: FastifyRequest['headers']): RequestFacts['announced'] => {
  const { 'content-length': length, 'repr-digest': digest } = headers
  return { length: length === undefined ? undefined : Number(length), digest: digest?.toString() }
}

const factsOf = (
  request: FastifyRequest,
  reply: FastifyReply,
  { caller, isSameOrigin, usedOrigin }: Admission,
): RequestFacts => ({
  caller,
  isSameOrigin,
  usedOrigin,
  isForm: isForm(request),
  newKeyProof: request.headers['dpop-new-key'],
  lastEventId: request.headers['last-event-id']?.toString(),
  announced: announcedIn(request.headers),
  get signal() {
    return goneSignal(reply.raw)
  },
})
