import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../kernel/actor.ts'
import { AppError, fail } from '../kernel/app-error.ts'
import type { Admit } from './admit.ts'
import { callerOf } from './caller.ts'
import type { Forms, Page, Pages, Visit } from './page.ts'
import { isForm } from './read-body.ts'
import { sourceOf } from './source-ip.ts'

/** Of a form that anybody may post. */
const longestForm = 256 * 1024

/** The pages a browser needs to sign in; `home` is for who has. */
export function registerPages(
  http: FastifyInstance,
  {
    admit,
    trustedProxies,
    pages,
    forms,
    home,
  }: {
    admit: Admit
    trustedProxies: readonly string[]
    pages: Pages
    forms: Forms
    home: (session: Principal<'session'>) => Promise<Page>
  },
): void {
  const send = (reply: FastifyReply, { status = 200, headers, body }: Page) =>
    reply.code(status).headers(headers).send(body)

  const visitOf = (request: FastifyRequest): Visit => ({
    query: new URLSearchParams(request.url.split('?')[1] ?? ''),
    params: request.params as Record<string, string>,
    cookies: (name) => cookieOf(request.headers.cookie, name),
    caller: callerOf(request.headers, sourceOf(request.raw, trustedProxies), request.id),
  })
  for (const [path, page] of Object.entries(pages))
    http.get(path, async (request, reply) => send(reply, await page(visitOf(request))))

  for (const [path, page] of Object.entries(forms))
    http.post(path, { bodyLimit: longestForm, config: { takesForm: true } }, async (request, reply) => {
      if (!isForm(request)) fail('bad_request', 'send a body as application/x-www-form-urlencoded')
      const form = (request.body ?? {}) as Record<string, string>
      return send(reply, await page({ ...visitOf(request), form }))
    })

  http.get('/admin', async (request, reply) => {
    const principal = await Promise.try(admit, undefined, request).then(
      (admission) => admission.actor?.principal,
      (e: unknown) => {
        if (e instanceof AppError && e.code === 'unauthorized') return undefined
        throw e
      },
    )
    if (!principal) return reply.redirect('/admin/login', 303)
    if (principal.kind !== 'session') throw new AppError('forbidden', 'this page is for a browser that has signed in')
    return send(reply, await home(principal))
  })
}

/** Undefined where it is given twice: nobody can say which of them is ours. */
function cookieOf(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  return values.length === 1 ? values[0]!.slice(name.length + 1) : undefined
}
