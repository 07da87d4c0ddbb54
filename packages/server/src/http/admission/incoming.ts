import { backgroundHeader, type Endpoint, scopeParameters } from '@holdfast/contract/endpoint'
import type { FastifyRequest } from 'fastify'
import type { SourceOf } from '../connection/source-ip.ts'
import type { IncomingRequest } from './authenticate.ts'

/** Returns the data of a request for verifiers, and its query string without the pipeline's parameters. */
export function incomingOf(
  endpoint: Endpoint | undefined,
  request: FastifyRequest,
  sourceOf: SourceOf,
): IncomingRequest & { search: string } {
  const { url, headers } = request
  const mark = url.indexOf('?')
  const { search, scope } = mark < 0 ? nothingAsked : readScope(endpoint, url.slice(mark + 1))
  return {
    method: request.method,
    url,
    path: mark < 0 ? url : url.slice(0, mark),
    search,
    sourceIp: sourceOf(request.raw),
    // Two headers arrive joined by a comma, which no proof contains.
    dpop: headers.dpop,
    background: endpoint?.events !== undefined || isBackgroundRead(request),
    scope,
  }
}

/** A change counts as an act of a person, so the header has no effect with other methods. */
const isBackgroundRead = ({ method, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && headers[backgroundHeader] === '1'

const nothingAsked = { search: '', scope: {} }

/** Separates the pipeline's parameters from the rest of the query. */
function readScope(endpoint: Endpoint | undefined, query: string): { search: string; scope: IncomingRequest['scope'] } {
  const parameters = new URLSearchParams(query)
  const scope: IncomingRequest['scope'] = {}
  for (const name of endpoint ? scopeParameters(endpoint) : []) {
    const value = parameters.getAll(name)
    if (value.length !== 1) continue
    scope[name] = value[0]!
    parameters.delete(name)
  }
  return { search: parameters.toString(), scope }
}
