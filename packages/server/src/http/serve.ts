import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type Contract, type Endpoint, type Given, type Operation, type Output, operations } from '@holdfast/contract'
import { operationRule, successStatuses } from '@holdfast/contract/endpoint'
import type { Permission } from '@holdfast/contract/vocabulary'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Actor, Principal } from '../kernel/actor.ts'
import { AppError, fail } from '../kernel/app-error.ts'
import { newUuid } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import type { Representation } from '../kernel/representation.ts'
import type { Expected } from '../kernel/version.ts'
import type { Admission, Admit } from './admit.ts'
import type { Answer } from './answer.ts'
import type { Draining } from './draining.ts'
import { securityHeaders, sendError, toAppError, unauthorized } from './error-response.ts'
import type { Idempotency } from './idempotency.ts'
import { hasBody, isForm, registerBodyReaders, unexpectedBody } from './read-body.ts'
import { createQueryReader, requireReadableQuery } from './read-query.ts'
import type { Refuse } from './refuse.ts'
import { expectedOf, type Granted, goneSignal, type Hold, holdOf, preferenceApplied } from './representation.ts'
import { serializable } from './response-schema.ts'
import { send } from './send.ts'
import { refuseUnparsed, refuseUnusual, withHost } from './unreadable.ts'
import { createValidator } from './validate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    admission: Admission | null
  }
}

type KindsOf<E extends Endpoint> = E['access'] extends { by: readonly (infer K)[] } ? K : never
type Caller<E extends Endpoint> = E['access'] extends { by: 'anyone' }
  ? { actor: null }
  : { actor: Actor<Extract<Principal, { kind: KindsOf<E> }>> }
/** What of a request a handler may want beside its validated input. */
export type RequestFacts = {
  headers: FastifyRequest['headers']
  method: string
  path: string
  sourceIp: string
  requestId: string
  isForm: boolean
  /** Settles when the client has gone; what only its answer would need is given up then. */
  signal: AbortSignal
}
/** Where the contract says that an endpoint waits: what of that wish is granted, if it was made. */
type Waiting<E extends Endpoint> = E extends { waits: true } ? { hold: Hold | undefined } : unknown
/** Where the contract says that a write may name the version it means. */
type Expecting<E extends Endpoint> = E extends { ifMatch: true } ? { expected: Expected } : unknown
export type Handlers = {
  [K in Operation]: (
    call: Caller<Contract[K]> &
      Given<Contract[K]> &
      Waiting<Contract[K]> &
      Expecting<Contract[K]> & { request: RequestFacts },
  ) => Result<Contract[K]> | Promise<Result<Contract[K]>>
}
type Result<E extends Endpoint> = E extends { etag: true }
  ? Representation<Output<E>>
  : Output<E> | Representation<Output<E>> | Answer<Output<E>>
type Call = {
  actor: Actor | null
  params: unknown
  query: unknown
  body: unknown
  request: RequestFacts
  hold: Granted | undefined
  expected: Expected | undefined
}
type AnyHandler = (call: Call) => unknown

export type HttpDeps = {
  handlers: Handlers
  admit: Admit
  idempotency: Idempotency
  /** Refuses a session that has shown no one-time code lately, where the tenant asks for one. */
  requireStepUp: (actor: Actor) => Promise<void>
  /** Puts a refused write on record. */
  recordRefusal: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  /** The same for who has no actor, or a token that enrolls nobody: the first of a minute, and then their count. */
  refusedLate: Refuse['late']
  log: Pick<Log, 'error'>
  /** Few at a time, of each tenant and of all. */
  costly: <T>(tenant: string, work: () => T | Promise<T>) => Promise<T>
  /** Answers a request in front of the router; false when it is not one of its own. */
  warm: (request: IncomingMessage, response: ServerResponse) => boolean
  draining: Draining
  https?: { cert: Buffer; key: Buffer }
  maxConnections: number
}

/** The one pipe: authenticate, rate limit, permission before the body is read; then validate; then the handler. */
export function createHttp(deps: HttpDeps): FastifyInstance {
  const http = Fastify({
    // Errors are logged by `sendError`; a logger of its own for every request would cost a poll more than its answer.
    logger: false,
    genReqId: () => newUuid(),
    bodyLimit: longestBody,
    exposeHeadRoutes: false,
    serverFactory: (handler: RequestListener) => createServer(deps, handler),
    clientErrorHandler: refuseUnparsed,
    forceCloseConnections: 'idle',
    // While stopping, a connection that is still open gets real answers; no new one is accepted.
    return503OnClosing: false,
    // A path that can't be decoded is an unknown path: credentials first.
    frameworkErrors: (_e: unknown, request: FastifyRequest, reply: FastifyReply) =>
      void refuseUnknown(deps, request, reply),
  } as object) as FastifyInstance
  http.decorateRequest('admission', null)
  http.addHook('onRequest', (request, reply, done) => {
    reply.headers(securityHeaders).header('x-request-id', request.id)
    if (request.is404) unknownRoute(deps, request).then(done, done)
    else done()
  })
  http.setErrorHandler((error, request, reply) => sendError(deps.log, error, request, reply))
  http.setNotFoundHandler((request, reply) =>
    sendError(deps.log, new AppError('not_found', 'no such route'), request, reply),
  )
  registerBodyReaders(http)
  for (const [name, endpoint] of operations) {
    http.route({
      method: endpoint.method === 'GET' ? ['GET', 'HEAD'] : endpoint.method,
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      schema: {
        response: Object.fromEntries(successStatuses(endpoint).map((s) => [s, serializable(endpoint.response)])),
      },
      bodyLimit: bodyLimitOf(endpoint),
      config: { takesForm: endpoint.form === true, bodyNames: endpoint.bodyNames },
      ...runEndpoint(deps, name, endpoint),
    })
  }
  return http
}

const longestBody = 1024 * 1024
/** Of a body that may be read before anyone knows whose it is. */
const longestStrangersBody = 8 * 1024
const bodyLimitOf = ({ access, bodyLimit = longestBody }: Endpoint): number =>
  access.by === 'anyone' || access.by.includes('enrollment_token') ? longestStrangersBody : bodyLimit

/** Node's server, with the warm reads in front of the router and a bound on every kind of waiting. */
/** A client that takes longer to say what it wants holds a connection for nothing. Looked after every two seconds. */
const patience = {
  headersTimeout: 8000,
  requestTimeout: 20_000,
  connectionsCheckingInterval: 2000,
  keepAliveTimeout: 72_000,
  // Two Authorization headers are no credential, instead of the first one.
  joinDuplicateHeaders: true,
  // Asked for by `withHost`.
  requireHostHeader: false,
}

function createServer({ https, warm, maxConnections, draining }: HttpDeps, handler: RequestListener): Server {
  const listener = withHost((request, response) => {
    draining.watch(response)
    if (!warm(request, response)) handler(request, response)
  })
  const options = { ...https, ...patience }
  const server = https ? createHttpsServer(options, listener) : createHttpServer(options, listener)
  server.maxConnections = maxConnections
  refuseUnusual(server)
  return server
}

/**
 * Hooks and handler of one endpoint. What can be answered at once is: a warm poll passes from its first byte to its last
 * without a promise.
 */
function runEndpoint(deps: HttpDeps, name: Operation, endpoint: Endpoint) {
  const own = deps.handlers[name] as AnyHandler
  const handler: AnyHandler = endpoint.costly ? (call) => deps.costly(call.actor?.tenantId ?? '', () => own(call)) : own
  const validateParams = endpoint.params && createValidator(endpoint.params)
  const validateBody = endpoint.body && createValidator(endpoint.body)
  const readQuery = createQueryReader(endpoint.query)
  const isRead = endpoint.method === 'GET'

  const callOf = (request: FastifyRequest, reply: FastifyReply, admission: Admission): Call => {
    validateParams?.(request.params)
    requireReadableQuery(request.url)
    const query = readQuery(admission.search)
    if (isRead && hasBody(request.headers)) fail('bad_request', 'a GET takes no body')
    const body = endpoint.body ? (request.body === undefined ? {} : request.body) : unexpectedBody(request.body)
    validateBody?.(body)
    const { actor } = admission
    const hold = endpoint.waits ? holdOf(request.raw, reply.raw) : undefined
    const expected = endpoint.ifMatch ? expectedOf(request.headers['if-match']) : undefined
    return { actor, params: request.params, query, body, request: factsOf(request, reply, admission), hold, expected }
  }
  async function change(request: FastifyRequest, reply: FastifyReply, admission: Admission): Promise<unknown> {
    if (admission.authenticateBody) await admission.authenticateBody(request)
    const rule = operationRule(endpoint, request.body)
    if (rule) requirePermission(admission.actor, rule.permission)
    const call = callOf(request, reply, admission)
    if (call.actor && needsStepUp(endpoint, call.body)) await deps.requireStepUp(call.actor)
    const status = rule?.status ?? endpoint.status ?? 200
    reply.code(status)
    return deps.idempotency.run({ ...endpoint, status }, request, call.actor, async () => handler(call))
  }
  const finish = (request: FastifyRequest, reply: FastifyReply, result: unknown, hold?: Granted) => {
    if (endpoint.immutable) reply.header('cache-control', 'private, max-age=86400, immutable')
    if (hold && !hold.isDeclined) reply.header('preference-applied', preferenceApplied(hold))
    send(request, reply, result)
  }
  async function finishLater(
    request: FastifyRequest,
    reply: FastifyReply,
    admission: Admission,
    result: unknown,
    hold?: Granted,
  ): Promise<void> {
    const answer = await result
    await admission.recorded
    finish(request, reply, answer, hold)
  }

  return {
    onRequest: (request: FastifyRequest, _reply: FastifyReply, done: (e?: Error) => void) => {
      const settle = (admission: Admission) => {
        request.admission = admission
        done(admission.refusal)
      }
      try {
        const admission = deps.admit(endpoint, request)
        if (admission instanceof Promise) admission.then(settle, done)
        else settle(admission)
      } catch (e) {
        done(e as Error)
      }
    },
    handler: (request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined => {
      const admission = request.admission ?? fail('internal_error', 'unexpected server error')
      if (!isRead) return finishLater(request, reply, admission, change(request, reply, admission))
      const call = callOf(request, reply, admission)
      const result = handler(call)
      if (result instanceof Promise || admission.recorded)
        return finishLater(request, reply, admission, result, call.hold)
      finish(request, reply, result, call.hold)
      return undefined
    },
    /** Every refusal passes here, wherever it was made: a refused write is put on record, then answered. */
    errorHandler: async (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
      const error = toAppError(thrown)
      const admission = request.admission
      const silent = error.code === 'unauthorized' || error.code === 'rate_limited'
      try {
        await admission?.recorded
        if (admission?.actor && endpoint.audit && !silent) await deps.recordRefusal(admission.actor, name, error)
        else if (admission && endpoint.audit)
          await deps.refusedLate(name, error, admission.actor, {
            sourceIp: admission.sourceIp,
            userAgent: request.headers['user-agent'] ?? null,
            requestId: request.id,
          })
      } catch (e) {
        return sendError(deps.log, error.code === 'internal_error' ? error : e, request, reply)
      }
      return sendError(deps.log, error, request, reply)
    },
  }
}

/** Binds the kinds that carry a role. */
function requirePermission(actor: Actor | null, permission: Permission): void {
  const { principal } = actor ?? {}
  if (principal && 'permissions' in principal && !principal.permissions.has(permission))
    fail('forbidden', `this operation needs the permission ${permission}`)
}

/** Whether a body is one of those that the endpoint guards with a fresh one-time code. */
const needsStepUp = ({ stepUp }: Endpoint, body: unknown): boolean =>
  stepUp !== undefined &&
  Object.entries(stepUp).every(([field, value]) => (body as Record<string, unknown>)[field] === value)

const factsOf = (request: FastifyRequest, reply: FastifyReply, admission: Admission): RequestFacts => ({
  headers: request.headers,
  method: request.method,
  path: admission.path,
  sourceIp: admission.sourceIp,
  requestId: request.id,
  isForm: isForm(request),
  get signal() {
    return goneSignal(reply.raw)
  },
})

/** Without a valid credential every path is 401, known or not. */
async function unknownRoute(deps: HttpDeps, request: FastifyRequest): Promise<AppError> {
  try {
    const { actor } = await deps.admit(undefined, request)
    return actor ? new AppError('not_found', 'no such route') : unauthorized()
  } catch (e) {
    return toAppError(e)
  }
}

async function refuseUnknown(deps: HttpDeps, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.headers({ ...securityHeaders, 'x-request-id': request.id })
  sendError(deps.log, await unknownRoute(deps, request), request, reply)
}
