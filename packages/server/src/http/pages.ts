import type { Operation } from '@holdfast/contract'
import { errorStatus } from '@holdfast/contract/vocabulary'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../kernel/actor.ts'
import { type AppError, fail } from '../kernel/app-error.ts'
import type { Log } from '../kernel/log.ts'
import type { Origins } from '../kernel/origins.ts'
import type { Admit } from './admit.ts'
import { callerOf, sentBy } from './caller.ts'
import { challenge, toAppError } from './error-response.ts'
import type { Forms, Page, Pages, ProblemPage, Rooms, Visit } from './page.ts'
import { isForm } from './read-body.ts'
import { registerRooms } from './rooms.ts'
import { sourceOf } from './source-ip.ts'

/** Of a form that anybody may post. */
const longestForm = 256 * 1024

type PagesDeps = {
  admit: Admit
  trustedProxies: readonly string[]
  origins: Origins
  log: Pick<Log, 'error'>
  /** Puts on record what a form of a page was refused, as the operation that it stands for. */
  recordRefusal: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  pages: Pages
  forms: Forms
  /** For who has signed in. */
  rooms: Rooms
  problem: ProblemPage
}

/** The pages a browser needs to sign in, and those that a sign-in owes. What fails is a page too. */
export function registerPages(http: FastifyInstance, deps: PagesDeps): void {
  const { trustedProxies, origins, pages, forms, rooms, problem, log } = deps
  const send = (reply: FastifyReply, { status = 200, headers, body }: Page) =>
    reply.code(status).headers(headers).send(body)

  const visitOf = (request: FastifyRequest): Visit => ({
    query: new URLSearchParams(request.url.split('?')[1] ?? ''),
    params: request.params as Record<string, string>,
    cookies: (name) => cookieOf(request.headers.cookie, name),
    caller: callerOf(request.headers, sourceOf(request.raw, trustedProxies), request.id),
  })
  http.register(async (scope) => {
    scope.setErrorHandler((thrown, request, reply) => {
      const e = toAppError(thrown)
      if (e.code === 'internal_error') log.error({ err: e.cause ?? e, request_id: request.id }, e.message)
      if (e.retryAfterSeconds !== undefined) reply.header('retry-after', String(e.retryAfterSeconds))
      if (e.code === 'unauthorized') reply.header('www-authenticate', challenge)
      return send(reply, { status: errorStatus[e.code], ...problem(e, request.id) })
    })
    for (const [path, page] of Object.entries(pages))
      scope.get(path, async (request, reply) => {
        const elsewhere = atProvider.has(path) && isAtOtherOrigin(request, origins)
        if (elsewhere) return reply.redirect(origins.publicUrl + request.url, 303)
        return send(reply, await page(visitOf(request)))
      })
    for (const [path, page] of Object.entries(forms))
      scope.post(path, { bodyLimit: longestForm, config: { takesForm: true } }, async (request, reply) => {
        if (!isForm(request)) fail('bad_request', 'send a body as application/x-www-form-urlencoded')
        const form = (request.body ?? {}) as Record<string, string>
        const visit = { ...visitOf(request), form, ...sentBy(request.headers, origins) }
        return send(reply, await page(visit))
      })
    registerRooms(scope, { ...deps, visitOf, send }, rooms)
  })
}

/** Where a sign-in at an identity provider begins. It comes back to the public URL, where its cookie has to be. */
const atProvider: ReadonlySet<string> = new Set(['/admin/login/oidc', '/admin/login/saml'])
const isAtOtherOrigin = ({ headers }: FastifyRequest, { publicUrl, otherOrigins }: Origins): boolean =>
  otherOrigins.includes(`${new URL(publicUrl).protocol}//${headers.host}`)

/** Undefined where it is given twice: nobody can say which of them is ours. */
function cookieOf(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  return values.length === 1 ? values[0]!.slice(name.length + 1) : undefined
}
