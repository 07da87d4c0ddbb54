import type { Operation } from '@holdfast/contract'
import { errorStatus } from '@holdfast/contract/vocabulary'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Actor } from '../../kernel/actor.ts'
import { type AppError, fail } from '../../kernel/app-error.ts'
import type { Log } from '../../kernel/log.ts'
import type { Origins } from '../../kernel/origins.ts'
import type { Admit } from '../admission/admit.ts'
import { callerOf, sentBy } from '../admission/caller.ts'
import { challenge, toAppError } from '../answer/error-response.ts'
import { cookieOf, type HtmlPageAnswer } from '../answer/html-page.ts'
import { sendPage } from '../answer/send.ts'
import { isForm } from '../body/read-body.ts'
import type { SourceOf } from '../connection/source-ip.ts'
import type { Forms, Pages, ProblemPage, SignedInPages, Visit } from './page.ts'
import { registerSignedInPages } from './signed-in-pages.ts'

/** Size limit in bytes of a form that anybody may post. */
const longestForm = 256 * 1024

type PagesDeps = {
  admit: Admit
  sourceOf: SourceOf
  origins: Origins
  log: Pick<Log, 'error'>
  /** Records a refused form as the operation that it performs. */
  recordRefusal: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  recordRefusedRead: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  pages: Pages
  forms: Forms
  /** Pages for signed-in people. */
  signedInPages: SignedInPages
  problem: ProblemPage
  /** Returns the address of the sign-in that leads to a path of this site. */
  signInPath: (next: string) => string
}

/** Serves the pages for signing in, and those of required actions after it. Errors are pages too. */
export function registerPages(http: FastifyInstance, deps: PagesDeps): void {
  const { sourceOf, origins, pages, forms, signedInPages, problem, log } = deps
  const visitOf = (request: FastifyRequest): Visit => ({
    url: request.url,
    query: new URLSearchParams(request.url.split('?')[1] ?? ''),
    params: request.params as Record<string, string>,
    cookies: (name) => cookieOf(request.headers.cookie, name),
    caller: callerOf(request.headers, sourceOf(request.raw), request.id),
  })
  http.register(async (scope) => {
    scope.setErrorHandler((thrown, request, reply) =>
      sendPage(request, reply, failed(toAppError(thrown), { log, problem, requestId: request.id })),
    )
    for (const [path, page] of Object.entries(pages))
      scope.get(path, async (request, reply) => {
        const elsewhere = atProvider.has(path) && isAtOtherOrigin(request, origins)
        if (elsewhere) return reply.redirect(origins.publicUrl + request.url, 303)
        return sendPage(request, reply, await page(visitOf(request)))
      })
    for (const [path, page] of Object.entries(forms))
      scope.post(path, { bodyLimit: longestForm, config: { takesForm: true } }, async (request, reply) => {
        if (!isForm(request)) fail('bad_request', 'send the body as application/x-www-form-urlencoded')
        const form = (request.body ?? {}) as Record<string, string>
        const visit = { ...visitOf(request), form, ...sentBy(request.headers, origins) }
        return sendPage(request, reply, await page(visit))
      })
    registerSignedInPages(scope, { ...deps, visitOf }, signedInPages)
  })
}

/** Renders an error as a page. Internal errors are logged. */
export function failed(
  e: AppError,
  { log, problem, requestId }: Pick<PagesDeps, 'log' | 'problem'> & { requestId: string },
): HtmlPageAnswer {
  if (e.code === 'internal_error') log.error({ err: e.cause ?? e, request_id: requestId }, e.message)
  const page = problem(e, requestId)
  const headers = {
    ...page.headers,
    ...(e.retryAfterSeconds !== undefined && { 'retry-after': String(e.retryAfterSeconds) }),
    ...(e.rateLimit && { 'ratelimit-policy': e.rateLimit.policy, ratelimit: e.rateLimit.state }),
    ...(e.code === 'unauthorized' && { 'www-authenticate': challenge }),
  }
  return { status: errorStatus[e.code], ...page, headers }
}

/** Paths where a sign-in at an identity provider starts. It returns to the public URL, which must hold its cookie. */
const atProvider: ReadonlySet<string> = new Set(['/admin/login/oidc', '/admin/login/saml'])
const isAtOtherOrigin = ({ headers }: FastifyRequest, { publicUrl, otherOrigins }: Origins): boolean =>
  otherOrigins.includes(`${new URL(publicUrl).protocol}//${headers.host}`)
