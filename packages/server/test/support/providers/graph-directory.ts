import { randomUUID } from 'node:crypto'
import type { Outbound } from '../../../src/outbound/outbound.ts'
import { OutboundError } from '../../../src/outbound/outbound-error.ts'
import { type Asked, type Reply, startDirectoryServer } from './directory-server.ts'

type Entry = Record<string, unknown> & { id: string }
export const entraTenant = '72f988bf-86f1-41af-91ab-2d7cd011db47'
export const entraClient = { client_id: '6731de76-14a6-49ae-97bc-6eba6914391e', secret: 'secret of the application' }
const hosts = ['login.microsoftonline.com', 'graph.microsoft.com']
export const member = (id: string, type = 'user') => ({ '@odata.type': `#microsoft.graph.${type}`, id })
export const removed = { '@removed': { reason: 'deleted' } }

/**
 * A simulation of Microsoft's sign-in and of Graph's delta queries for users and groups
 * (learn.microsoft.com/graph/delta-query-groups). Pages are linked by `@odata.nextLink`; the last has an
 * `@odata.deltaLink`, which returns later changes. `outbound` sends requests for the two hosts here.
 */
export async function startGraph(t: { after: (end: () => void) => void }, real: Pick<Outbound, 'request'>) {
  /** Entries of the next round of each delta query; in the first round, all entries. */
  const say: Record<'users' | 'groups', Entry[]> = { users: [], groups: [] }
  const tokens = new Set<string>()
  const states = new Map<string, { what: 'users' | 'groups'; rest: Entry[] }>()
  let perPage = 2

  const graph = 'https://graph.microsoft.com/v1.0'
  function deltaPage(what: 'users' | 'groups', rest: Entry[]): Reply {
    const value = rest.slice(0, perPage)
    const state = randomUUID()
    const isLast = rest.length <= perPage
    states.set(state, { what, rest: isLast ? [] : rest.slice(perPage) })
    const link = isLast
      ? { '@odata.deltaLink': `${graph}/${what}/delta?$deltatoken=${state}` }
      : { '@odata.nextLink': `${graph}/${what}/delta?$skiptoken=${state}` }
    return { json: { '@odata.context': `${graph}/$metadata#${what}`, ...link, value } }
  }
  function answer(asked: Asked): Reply {
    const { pathname, searchParams: q } = asked.url
    if (pathname === `/${entraTenant}/oauth2/v2.0/token`) return token(asked)
    const bearer = String(asked.headers.authorization ?? '').replace(/^Bearer /, '')
    if (!tokens.has(bearer)) return { status: 401, json: { error: { code: 'InvalidAuthenticationToken' } } }
    const what = pathname.includes('/users') ? 'users' : 'groups'
    if (!pathname.endsWith('/delta'))
      return { json: { '@odata.count': say[what].length, value: say[what].slice(0, Number(q.get('$top') ?? 100)) } }
    const known = q.get('$deltatoken') ?? q.get('$skiptoken')
    if (known === null) return deltaPage(what, say[what].splice(0))
    const state = states.get(known)
    if (!state) return { status: 410, json: { error: { code: 'resyncRequired', message: 'Resync required.' } } }
    return deltaPage(what, q.has('$deltatoken') ? say[what].splice(0) : state.rest)
  }
  function token({ form }: Asked): Reply {
    const isRight =
      form.get('client_id') === entraClient.client_id &&
      form.get('client_secret') === entraClient.secret &&
      form.get('scope') === 'https://graph.microsoft.com/.default'
    if (!isRight) return { status: 401, json: { error: 'invalid_client', error_description: 'AADSTS7000215' } }
    const access_token = randomUUID()
    tokens.add(access_token)
    return { json: { token_type: 'Bearer', expires_in: 3599, ext_expires_in: 3599, access_token } }
  }

  const server = await startDirectoryServer(t, answer)
  /** Requests for other hosts. */
  const elsewhere: string[] = []
  return {
    ...server,
    issuer: `https://login.microsoftonline.com/${entraTenant}/v2.0`,
    say,
    states,
    elsewhere,
    setPerPage: (n: number) => {
      perPage = n
    },
    outbound: {
      refusalOf: () => undefined,
      socketRefusalOf: () => undefined,
      connect: () => Promise.reject(new OutboundError('unreachable', 'The test has no such host.')),
      request: async (text, options) => {
        const url = new URL(text)
        if (url.protocol === 'https:' && hosts.includes(url.host))
          return real.request(server.origin + url.pathname + url.search, options)
        elsewhere.push(text)
        throw new OutboundError('unreachable', 'The test has no such host.')
      },
    } satisfies Outbound,
  }
}
