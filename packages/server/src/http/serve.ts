import type { RequestListener } from 'node:http'
import { type Endpoint, operations } from '@holdfast/contract'
import { successStatuses } from '@holdfast/contract/endpoint'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError, badCredentials, fail } from '../kernel/app-error.ts'
import { newRequestId } from '../kernel/ids.ts'
import { compressForConsole } from './answer/compress.ts'
import { sendError, toAppError } from './answer/error-response.ts'
import { serializerOf } from './answer/response-schema.ts'
import type { SecurityHeaders } from './answer/security-headers.ts'
import { refuseUnparsed } from './answer/unreadable.ts'
import { registerBodyReaders } from './body/read-body.ts'
import type { UnknownPages } from './pages/unknown-pages.ts'
import { type EndpointDeps, runEndpoint } from './run-endpoint.ts'
import { createServer, type ServerDeps } from './server.ts'

type HttpDeps = EndpointDeps & ServerDeps & { unknownPages: UnknownPages; securityHeaders: SecurityHeaders }

/**
 * The request pipeline: authentication, rate limit and permission before the body is read; then validation; then the
 * handler.
 */
export function createHttp(deps: HttpDeps): FastifyInstance {
  const http = Fastify({
    // `sendError` logs errors. A logger per request would cost a poll more than its response.
    logger: false,
    genReqId: () => newRequestId(),
    bodyLimit: longestBody,
    exposeHeadRoutes: false,
    serverFactory: (handler: RequestListener) => createServer(deps, handler),
    clientErrorHandler: refuseUnparsed,
    forceCloseConnections: 'idle',
    schemaController: { compilersFactory: schemaCompilers },
    // During a stop, open connections get real responses, and no new one is accepted.
    return503OnClosing: false,
    // An undecodable path is an unknown path: credentials are checked first.
    frameworkErrors: (_e: unknown, request: FastifyRequest, reply: FastifyReply) =>
      void refuseUnknown(deps, request, reply),
  } as object) as FastifyInstance
  http.decorateRequest('admission', null)
  http.decorateRequest('largeBody', null)
  http.addHook('onRequest', (request, reply, done) => {
    reply.headers(deps.securityHeaders).header('x-request-id', request.id)
    if (!request.is404) done()
    else if (!deps.unknownPages(request, reply)) unknownRoute(deps, request).then(done, done)
  })
  http.setErrorHandler((error, request, reply) => sendError(deps.log, error, request, reply))
  http.setNotFoundHandler((request, reply) =>
    sendError(deps.log, new AppError('not_found', 'no such route'), request, reply),
  )
  registerBodyReaders(http)
  for (const [name, endpoint] of operations) {
    http.route({
      method: methodsOf(endpoint),
      url: urlOf(endpoint),
      schema: {
        response: Object.fromEntries(
          endpoint.download || endpoint.stream
            ? []
            : successStatuses(endpoint).flatMap((s) => (s === 204 ? [] : [[s, endpoint.response]])),
        ),
      },
      bodyLimit: bodyLimitOf(endpoint),
      config: {
        takesForm: endpoint.form === true,
        upload: endpoint.upload === true,
        bodyNames: endpoint.bodyNames,
        textLimit: endpoint.textLimit,
        judgesTexts: endpoint.judgesTexts,
        protocol: endpoint.protocol,
      },
      ...runEndpoint(deps, name, endpoint),
      ...(isForConsole(endpoint) && { onSend: compressForConsole }),
    })
  }
  refuseOtherMethods(deps, http)
  return http
}

const urlOf = ({ path }: Endpoint) => path.replaceAll(/\{(\w+)\}/g, ':$1')
const isForConsole = ({ method, access: { by } }: Endpoint) =>
  method === 'GET' && by !== 'anyone' && by.includes('session')
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const methodsOf = ({ method, begins }: Endpoint) => (method === 'GET' && !begins ? ['GET', 'HEAD'] : [method])

/**
 * SCIM clients get the allowed methods of a path. Elsewhere a method that a path does not support is an unknown route.
 */
function refuseOtherMethods(deps: HttpDeps, http: FastifyInstance): void {
  const scimOperations = operations.flatMap(([, e]) => (e.protocol === 'scim' ? [e] : []))
  for (const [url, endpoints] of Map.groupBy(scimOperations, urlOf)) {
    const { taken: allow = [], other: method = [] } = Object.groupBy(methods, (m) =>
      endpoints.some((e) => methodsOf(e).includes(m)) ? 'taken' : 'other',
    )
    http.route({
      method,
      url,
      onRequest: (request, _reply, done) => void unknownRoute(deps, request, allow).then(done, done),
      handler: () => fail('internal_error', 'unexpected server error'),
    })
  }
}

/** Input is validated by our own validators, not by Fastify's. */
const schemaCompilers = {
  buildValidator: () => () => fail('internal_error', 'unexpected server error'),
  buildSerializer: () => (route: { schema: unknown }) => serializerOf(route.schema as object),
}

const longestBody = 1024 * 1024
/** Size limit in bytes of a body that is read before authentication. */
const longestStrangersBody = 8 * 1024
/** The limit for a body with an ID token. The contract sets a higher one for SAML responses. */
const longestClaimsBody = 32 * 1024
function bodyLimitOf({ access: { by }, bodyLimit }: Endpoint): number {
  if (by !== 'anyone' && by.includes('enrollment_challenge') && by.length === 1) return bodyLimit ?? longestClaimsBody
  return by === 'anyone' || by.includes('enrollment_token') ? longestStrangersBody : (bodyLimit ?? longestBody)
}

/** Without a valid credential every path is 401, known or not. */
async function unknownRoute(deps: HttpDeps, request: FastifyRequest, allow?: readonly string[]): Promise<AppError> {
  try {
    const { actor, recorded, rateLimit } = await deps.admit(undefined, request)
    await recorded
    return actor ? new AppError('not_found', 'no such route', { allow, rateLimit }) : badCredentials()
  } catch (e) {
    return toAppError(e)
  }
}

async function refuseUnknown(deps: HttpDeps, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.headers({ ...deps.securityHeaders, 'x-request-id': request.id })
  if (!deps.unknownPages(request, reply)) sendError(deps.log, await unknownRoute(deps, request), request, reply)
}
