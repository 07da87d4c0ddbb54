import type { Operation } from '@holdfast/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../../kernel/actor.ts'
import { AppError, fail } from '../../kernel/app-error.ts'
import { type Origins, useInstead } from '../../kernel/origins.ts'
import type { Admit } from '../admission/admit.ts'
import { sentBy } from '../admission/caller.ts'
import { tellRateLimit } from '../answer/error-response.ts'
import type { HtmlPageAnswer } from '../answer/html-page.ts'
import { sendPage } from '../answer/send.ts'
import { isForm } from '../body/read-body.ts'
import type { Inside, SignedInPage, SignedInPages, Visit } from './page.ts'

/** Size limit in bytes of a signed-in person's form. */
const longestForm = 8 * 1024

type SignedInPageDeps = {
  admit: Admit
  origins: Origins
  recordRefusal: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  recordRefusedRead: (actor: Actor, operation: Operation, error: AppError) => Promise<void>
  visitOf: (request: FastifyRequest) => Visit
  /** Returns the address of the sign-in that leads to a path of this site. */
  signInPath: (next: string) => string
}

/** Serves pages for signed-in people. Other callers are redirected to the sign-in page, which leads back. */
export function registerSignedInPages(
  http: FastifyInstance,
  deps: SignedInPageDeps,
  signedInPages: SignedInPages,
): void {
  const { admit, origins, recordRefusal, recordRefusedRead, visitOf, signInPath } = deps

  const enter = async (request: FastifyRequest, reply: FastifyReply): Promise<Inside | undefined> => {
    const actor = await Promise.try(admit, undefined, request).then(
      (admission) => {
        tellRateLimit(reply, admission.rateLimit)
        return admission.actor
      },
      (e: unknown) => {
        if (e instanceof AppError && e.code === 'unauthorized') return undefined
        throw e
      },
    )
    if (!actor) return undefined
    if (!isOfSession(actor)) return fail('forbidden', 'this page needs a session: sign in with a browser first')
    return { ...visitOf(request), actor }
  }
  const toSignIn = (reply: FastifyReply, next: string) => reply.redirect(signInPath(next), 303)

  async function submit(
    request: FastifyRequest,
    form: NonNullable<SignedInPage['form']>,
    inside: Inside,
  ): Promise<HtmlPageAnswer> {
    const fields = (request.body ?? {}) as Record<string, string>
    const visit = { ...inside, form: fields }
    try {
      const { isSameOrigin, usedOrigin } = sentBy(request.headers, origins)
      if (isSameOrigin !== true)
        fail('forbidden', useInstead('Use', usedOrigin, origins) ?? 'this form must be sent from this site')
      if (!isForm(request)) fail('bad_request', 'send the body as application/x-www-form-urlencoded')
      return await form.take(visit)
    } catch (e) {
      if (!(e instanceof AppError) || e.code === 'internal_error') throw e
      if (e.code === 'rate_limited') await recordRefusedRead(inside.actor, form.operation, e)
      else if (e.code !== 'unauthorized') await recordRefusal(inside.actor, form.operation, e)
      return form.again(e, visit)
    }
  }

  for (const [path, { get, form }] of Object.entries(signedInPages)) {
    http.route({
      method: ['GET', 'HEAD'],
      url: path,
      handler: async (request, reply) => {
        const inside = await enter(request, reply)
        return inside ? sendPage(request, reply, await get(inside)) : toSignIn(reply, request.url)
      },
    })
    if (form)
      http.post(path, { bodyLimit: longestForm, config: { takesForm: true } }, async (request, reply) => {
        const inside = await enter(request, reply)
        return inside ? sendPage(request, reply, await submit(request, form, inside)) : toSignIn(reply, path)
      })
  }
}

const isOfSession = (actor: Actor): actor is Actor<'session'> => actor.principal.kind === 'session'
