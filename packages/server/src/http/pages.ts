import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Principal } from '../kernel/actor.ts'
import { AppError } from '../kernel/app-error.ts'
import type { Admit } from './admit.ts'

type Pages = {
  headers: Readonly<Record<string, string>>
  login: (next: string | undefined) => Buffer
  home: (session: Principal<'session'>) => Promise<Buffer>
}

/** The pages a browser needs to sign in. They are outside the contract: a person reads them, not a client. */
export function registerPages(http: FastifyInstance, { admit, pages }: { admit: Admit; pages: Pages }): void {
  const send = (reply: FastifyReply, page: Buffer) => reply.headers(pages.headers).send(page)

  http.get('/admin/login', (request, reply) => {
    const next = new URLSearchParams(request.url.split('?')[1] ?? '').get('next')
    return send(reply, pages.login(next ?? undefined))
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
    return send(reply, await pages.home(principal))
  })
}
