import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../kernel/log.ts'
import type { Admit } from '../admission/admit.ts'
import { toAppError } from '../answer/error-response.ts'
import type { HtmlPageAnswer } from '../answer/html-page.ts'
import { sendPage } from '../answer/send.ts'
import type { ProblemPage, UnknownPage } from './page.ts'
import { failed } from './pages.ts'

type Deps = { admit: Admit; log: Pick<Log, 'error'>; unknown: UnknownPage; problem: ProblemPage }

/** Sends a page, or returns undefined for a request of the API. */
export type UnknownPages = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> | undefined

/**
 * For a browser that opens an unknown path: shows a page, or redirects to the sign-in. Clients of the API do not ask
 * for HTML, or send a credential; they get JSON, as does every request under /v1.
 */
export function createUnknownPages({ admit, log, unknown, problem }: Deps): UnknownPages {
  async function pageFor(request: FastifyRequest): Promise<HtmlPageAnswer> {
    try {
      return unknown({ url: request.url, requestId: request.id, isSignedIn: await isSignedIn(request) })
    } catch (e) {
      return failed(toAppError(e), { log, problem, requestId: request.id })
    }
  }
  /** A browser without a cookie has sent no credential, so none that failed. */
  async function isSignedIn(request: FastifyRequest): Promise<boolean> {
    if (!request.headers.cookie?.includes('holdfast_session')) return false
    try {
      const { actor } = await admit(undefined, request)
      return actor?.principal.kind === 'session'
    } catch (e) {
      if (toAppError(e).code === 'unauthorized') return false
      throw e
    }
  }
  return (request, reply) =>
    opensPage(request) ? pageFor(request).then((page) => sendPage(request, reply, page)) : undefined
}

function opensPage({ method, url, headers }: FastifyRequest): boolean {
  const [path = ''] = url.split('?')
  return (
    (method === 'GET' || method === 'HEAD') &&
    headers.authorization === undefined &&
    /(?:^|,)\s*text\/html\b/i.test(headers.accept ?? '') &&
    path !== '/v1' &&
    !path.startsWith('/v1/')
  )
}
