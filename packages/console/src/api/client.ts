import type { Contract, Input, Operation, Output } from '@holdfast/contract'
import { isPersonActive } from './activity.ts'
import { ApiError, toApiError } from './api-error.ts'
import { markLost, markReached } from './connection.ts'
import { selectedTenant } from './selected-tenant.ts'

type RouteOf<O extends Operation> = `${Contract[O]['method']} ${Contract[O]['path']}`
type ByRoute = { [O in Operation as RouteOf<O>]: Contract[O] }
/** Method and path of an operation of the contract: `GET /v1/admin/devices`. */
export type Route = keyof ByRoute & string
export type InputOf<R extends Route> = Input<ByRoute[R]>
export type OutputOf<R extends Route> = Output<ByRoute[R]>

/** Age of a page in ms up to which the reads that it announced count as current. */
const announcedMs = 15_000

type CallOptions = {
  signal?: AbortSignal | undefined
  /** ETag of the version to change, from a GET (RFC 9110 §13.1.1). */
  ifMatch?: string | undefined
}
type Parts = { params?: Record<string, string>; query?: Record<string, unknown>; body?: unknown }
export type Answer<R extends Route> = { body: OutputOf<R>; etag: string | undefined }

/**
 * Calls one operation of the API with the cookie of this browser.
 *
 * @throws {ApiError} for each error response, and if no response arrives (`status` 0).
 * @example const { items } = await call('GET /v1/admin/devices', { query: { limit: 100 } })
 */
export async function call<R extends Route>(
  route: R,
  input: InputOf<R>,
  options: CallOptions = {},
): Promise<OutputOf<R>> {
  return (await callWithEtag(route, input, options)).body
}

/** Calls one operation, and returns the ETag of the response too. */
export async function callWithEtag<R extends Route>(
  route: R,
  input: InputOf<R>,
  { signal, ifMatch }: CallOptions = {},
): Promise<Answer<R>> {
  const [method = 'GET', template = ''] = route.split(' ')
  const { params = {}, query = {}, body } = input as Parts
  const request: RequestInit = {
    method,
    headers: {
      // A read with a header is never answered by a read that the page announced, which may be old by then.
      ...(method === 'GET' && performance.now() > announcedMs && { accept: 'application/json' }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(method === 'POST' && { 'idempotency-key': crypto.randomUUID() }),
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
      ...(method === 'GET' && !isPersonActive() && { 'holdfast-background': '1' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }
  const sent = fetch(urlOf(template, params, query), request)
  if (method !== 'GET') keepUntilAnswered(sent)
  const response = await sent.catch((cause: unknown) => {
    if (signal?.aborted) throw cause
    markLost()
    throw new ApiError({ status: 0, code: 'offline', detail: 'The server could not be reached.' })
  })
  markReached()
  if (!response.ok) throw await refused(response, route)
  const text = response.status === 204 ? 'null' : await response.text()
  return { body: JSON.parse(text) as OutputOf<R>, etag: response.headers.get('etag') ?? undefined }
}

const changes = new Set<Promise<unknown>>()
const keepUntilAnswered = (change: Promise<unknown>) => {
  changes.add(change)
  const forget = () => void changes.delete(change)
  change.then(forget, forget)
}
/** Resolves when the server has answered all pending changes: a response may bring a new cookie for the session. */
export const changesAnswered = (): Promise<unknown> => Promise.allSettled([...changes])

let onSignedOut: (() => void) | undefined
/** Sets the action for a response that says that nobody is signed in. */
export function setOnSignedOut(act: () => void): void {
  onSignedOut = act
}

async function refused(response: Response, route: Route): Promise<ApiError> {
  const error = await toApiError(response)
  if (error.code === 'unauthorized' && route !== 'POST /admin/logout') onSignedOut?.()
  return error
}

/** Path of the list of all tenants. A `tenant_id` parameter would narrow that list to one tenant. */
const ofPlatform = '/v1/admin/tenants'

/** Returns the address of an operation, for a link, a download or a stream. */
export function urlOf(template: string, params: Record<string, string>, query: Record<string, unknown>): string {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  const tenant = selectedTenant()
  if (tenant !== undefined && template !== ofPlatform && !search.has('tenant_id')) search.set('tenant_id', tenant)
  return search.size === 0 ? path : `${path}?${search}`
}
