import type { IncomingMessage, ServerResponse } from 'node:http'
import { deviceStatusHeader } from '@holdfast/contract/vocabulary'
import type { Principal } from '../kernel/actor.ts'
import { newRequestId } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import { mapMaybePromise } from '../kernel/maybe-promise.ts'
import type { RateLimit } from '../kernel/rate-limit.ts'
import type { Representation } from '../kernel/results.ts'
import type { ActiveTenantVerifiers } from './admission/active-tenants-only.ts'
import { type CredentialVerdict, judgedSafely, tokenOf } from './admission/authenticate.ts'
import { anonymousCallerOf } from './admission/caller.ts'
import type { Refuse } from './admission/refuse.ts'
import { sendRefusal } from './answer/raw-refusal.ts'
import { type GrantedHold, type Hold, holdOf, isKnown, preferenceApplied } from './answer/representation.ts'
import type { SecurityHeaders } from './answer/security-headers.ts'
import { hasBody } from './connection/body-timeout.ts'
import type { SourceOf } from './connection/source-ip.ts'

/** Reads of the calling device by exact path, the same functions as in the endpoints' handlers. */
type WarmReads = Record<
  string,
  (device: Principal<'device'>, hold: Hold | undefined) => Representation<object> | Promise<Representation<object>>
>
type WarmDeps = {
  reads: WarmReads
  verifiers: ActiveTenantVerifiers
  refuse: Refuse
  sourceOf: SourceOf
  securityHeaders: SecurityHeaders
  log: Pick<Log, 'error'>
  longestWaitSeconds: number
}

const pending = [deviceStatusHeader, 'pending'] as const

/**
 * Fast path before the router for the reads that every device repeats every few seconds, with the same verifier,
 * results and headers. Any other request (another method, a query, a cookie, another kind of credential) goes through
 * the pipeline.
 */
export function createFastPath(deps: WarmDeps) {
  const { reads, verifiers, refuse, sourceOf, securityHeaders, log, longestWaitSeconds } = deps
  const fixed = Object.entries(securityHeaders).flat()
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { method, url = '', headers } = request
    const read = method === 'GET' && Object.hasOwn(reads, url) ? reads[url] : undefined
    const plain = headers.cookie === undefined && !hasBody(headers)
    const token = plain ? tokenOf(headers.authorization) : undefined
    if (!read || !token?.startsWith('ey')) return false

    const id = newRequestId()
    const sourceIp = sourceOf(request)
    const incoming = { method: 'GET', url, path: url, sourceIp, dpop: headers.dpop, background: false, scope: {} }
    const anonymous = () => anonymousCallerOf(headers, sourceIp, id)
    const answer = (verdict: CredentialVerdict) => {
      if (verdict?.kind !== 'device') {
        const refused = verdict?.kind === 'refused' ? verdict : undefined
        throw refuse.credential(refused, anonymous())
      }
      const hold = holdOf(request, response, longestWaitSeconds)
      const presented = {
        ifNoneMatch: headers['if-none-match'],
        hold,
        isPending: verdict.isPending,
        rateLimit: verdict.rateLimit,
        fixed,
      }
      return mapMaybePromise(read(verdict, hold), (r) => sendRepresentation(response, id, r, presented))
    }
    try {
      const sent = mapMaybePromise(
        judgedSafely(deps, () => verifiers.device(token, incoming), anonymous),
        answer,
      )
      if (sent instanceof Promise) sent.catch((e) => sendRefusal(response, id, e, { log, fixed }))
    } catch (e) {
      sendRefusal(response, id, e, { log, fixed })
    }
    return true
  }
}

type Asked = {
  ifNoneMatch: string | undefined
  hold: GrantedHold | undefined
  isPending: boolean
  rateLimit: RateLimit | undefined
  fixed: readonly string[]
}
function sendRepresentation(
  response: ServerResponse,
  id: string,
  { etag, content, text }: Representation<object>,
  { ifNoneMatch, hold, isPending, rateLimit, fixed }: Asked,
): void {
  const lines = [...fixed, 'x-request-id', id]
  if (rateLimit) lines.push('ratelimit-policy', rateLimit.policy, 'ratelimit', rateLimit.state)
  if (etag !== undefined) lines.push('etag', etag)
  if (hold && !hold.isDeclined) lines.push('preference-applied', preferenceApplied(hold))
  if (isPending) lines.push(...pending)
  if (isKnown(ifNoneMatch, etag)) {
    response.writeHead(304, lines).end()
    return
  }
  const bytes = text ?? (Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content)))
  lines.push('content-type', 'application/json; charset=utf-8', 'content-length', String(bytes.length))
  response.writeHead(200, lines).end(bytes, 'latin1')
}
