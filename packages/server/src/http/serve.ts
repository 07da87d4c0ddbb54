import { type Contract, type Endpoint, type Given, type Operation, type Output, operations } from '@holdfast/contract'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Actor, Principal } from '../kernel/actor.ts'
import { AppError, fail } from '../kernel/app-error.ts'
import { newUuid } from '../kernel/ids.ts'
import type { Admission, Admit } from './admit.ts'
import { Answer } from './answer.ts'
import { sendError, toAppError, unauthorized } from './error-response.ts'
import type { Idempotency } from './idempotency.ts'
import { isForm, registerBodyReaders, unexpectedBody } from './read-body.ts'
import { createQueryReader } from './read-query.ts'
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
  /** Settles when the client has gone; a waiting handler gives up then. */
  signal: AbortSignal
}
export type Handlers = {
  [K in Operation]: (
    call: Caller<Contract[K]> & Given<Contract[K]> & { request: RequestFacts },
  ) => Promise<Output<Contract[K]> | Answer<Output<Contract[K]>>>
}
type AnyHandler = (call: object) => Promise<unknown>

export type HttpDeps = {
  handlers: Handlers
  admit: Admit
  idempotency: Idempotency
  /** Refuses a session that has shown no one-time code lately, where the tenant asks for one. */
  requireStepUp: (actor: Actor) => Promise<void>
  recordRefusal: (actor: Actor, kind: NonNullable<Endpoint['audit']>, error: AppError) => Promise<void>
  logger: false | { level: string; stream?: { write: (line: string) => void } }
  https?: { cert: Buffer; key: Buffer }
}

const securityHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

/** The one pipe: authenticate, rate limit, permission before the body is read; then validate; then the handler. */
export function createHttp(deps: HttpDeps): FastifyInstance {
  const http = Fastify({
    logger: deps.logger && {
      ...deps.logger,
      serializers: { req: (r: FastifyRequest) => ({ method: r.method, path: r.url.split('?')[0] }) },
      redact: ['headers', 'req.headers'],
    },
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newUuid(),
    bodyLimit: 1024 * 1024,
    exposeHeadRoutes: false,
    requestTimeout: 60_000,
    keepAliveTimeout: 72_000,
    connectionTimeout: 0,
    forceCloseConnections: 'idle',
    // While stopping, a connection that is still open gets real answers; no new one is accepted.
    return503OnClosing: false,
    // A path that can't be decoded is an unknown path: credentials first.
    frameworkErrors: (_e: unknown, request: FastifyRequest, reply: FastifyReply) =>
      void refuseUnknown(deps, request, reply),
    ...(deps.https && { https: deps.https }),
  } as object) as FastifyInstance
  // A client that takes longer to say what it wants holds a connection for nothing.
  http.server.headersTimeout = 10_000
  http.decorateRequest('admission', null)
  http.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...securityHeaders, 'x-request-id': request.id })
    if (request.is404) throw await unknownRoute(deps, request)
  })
  http.setErrorHandler((error, request, reply) => sendError(error, request, reply))
  http.setNotFoundHandler((request, reply) => sendError(new AppError('not_found', 'no such route'), request, reply))
  registerBodyReaders(http)
  for (const [name, endpoint] of operations) {
    http.route({
      method: endpoint.method,
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      schema: { response: { [endpoint.status ?? 200]: endpoint.response } },
      ...(endpoint.bodyLimit && { bodyLimit: endpoint.bodyLimit }),
      config: { takesForm: endpoint.form === true },
      ...runEndpoint(deps, name, endpoint),
    })
  }
  return http
}

/** Hooks and handler of one endpoint. */
function runEndpoint(deps: HttpDeps, name: Operation, endpoint: Endpoint) {
  const handler = deps.handlers[name] as AnyHandler
  const validateParams = endpoint.params && createValidator(endpoint.params)
  const validateBody = endpoint.body && createValidator(endpoint.body)
  const readQuery = createQueryReader(endpoint.query)

  const refuse = async (request: FastifyRequest, error: AppError) => {
    const actor = request.admission?.actor
    if (actor && endpoint.audit && error.code !== 'unauthorized' && error.code !== 'rate_limited')
      await deps.recordRefusal(actor, endpoint.audit, error)
  }
  const guarded = async <T>(request: FastifyRequest, work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (e) {
      const error = toAppError(e)
      await refuse(request, error)
      throw error
    }
  }

  return {
    onRequest: (request: FastifyRequest) =>
      guarded(request, async () => {
        request.admission = await deps.admit(endpoint, request)
        if (request.admission.refusal) throw request.admission.refusal
      }),
    errorHandler: async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      // What the body reader refused has not passed through `guarded`.
      if (!(error instanceof AppError) || error.code === 'bad_request')
        await refuse(request, toAppError(error)).catch(() => {})
      return sendError(error, request, reply)
    },
    handler: (request: FastifyRequest, reply: FastifyReply) =>
      guarded(request, async () => {
        const admission = request.admission ?? fail('internal_error', 'unexpected server error')
        if (admission.authenticateBody) await admission.authenticateBody(request)
        validateParams?.(request.params)
        const query = readQuery(admission.search)
        const body = endpoint.body ? (request.body === undefined ? {} : request.body) : unexpectedBody(request.body)
        validateBody?.(body)
        if (admission.actor && needsStepUp(endpoint, body)) await deps.requireStepUp(admission.actor)
        const call = {
          actor: admission.actor,
          params: request.params,
          query,
          body,
          request: factsOf(request, reply, admission),
        }
        const result = await deps.idempotency.run(endpoint, request, admission.actor, () => handler(call))
        await admission.recorded
        return send(endpoint, reply, result)
      }),
  }
}

/** Whether a body is one of those that the endpoint guards with a fresh one-time code. */
const needsStepUp = ({ stepUp }: Endpoint, body: unknown): boolean =>
  stepUp !== undefined &&
  Object.entries(stepUp).every(([field, value]) => (body as Record<string, unknown>)[field] === value)

function send(endpoint: Endpoint, reply: FastifyReply, result: unknown): FastifyReply {
  const answer = result instanceof Answer ? result : new Answer(result)
  reply.code(answer.status ?? endpoint.status ?? 200).headers(answer.headers)
  if (answer.body === null) return reply.send()
  if (!reply.hasHeader('content-type')) reply.header('content-type', 'application/json; charset=utf-8')
  return reply.send(answer.body)
}

function factsOf(request: FastifyRequest, reply: FastifyReply, admission: Admission): RequestFacts {
  return {
    headers: request.headers,
    method: request.method,
    path: admission.path,
    sourceIp: admission.sourceIp,
    requestId: request.id,
    isForm: isForm(request),
    get signal() {
      const gone = new AbortController()
      reply.raw.once('close', () => gone.abort())
      return gone.signal
    },
  }
}

/** Without a valid credential every path is 401, known or not. */
async function unknownRoute(deps: HttpDeps, request: FastifyRequest): Promise<AppError> {
  const known = await deps.admit(undefined, request).then(
    (a) => a.actor !== null,
    () => false,
  )
  return known ? new AppError('not_found', 'no such route') : unauthorized()
}

async function refuseUnknown(deps: HttpDeps, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.headers({ ...securityHeaders, 'x-request-id': request.id })
  sendError(await unknownRoute(deps, request), request, reply)
}
