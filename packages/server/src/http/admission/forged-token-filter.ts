import type { IncomingMessage, ServerResponse } from 'node:http'
import { newRequestId } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import { sendRefusal } from '../answer/raw-refusal.ts'
import type { SecurityHeaders } from '../answer/security-headers.ts'
import { hasBody } from '../connection/body-timeout.ts'
import type { SourceOf } from '../connection/source-ip.ts'
import { tokenOf, type Verifiers } from './authenticate.ts'
import { anonymousCallerOf } from './caller.ts'
import type { Refuse } from './refuse.ts'

/** Every path under it requires a credential, even an unknown one. */
const guarded = '/v1/'

/**
 * Refuses tokens that were not issued here before the router, so that a flood of them costs little more than their
 * MACs. Requests with a body go to the pipeline, which closes the connection.
 */
export function createForgedTokenFilter(deps: {
  verifiers: Pick<Verifiers, 'readToken' | 'service'>
  refuse: Refuse
  sourceOf: SourceOf
  securityHeaders: SecurityHeaders
  log: Pick<Log, 'error'>
}) {
  const { verifiers, refuse, sourceOf, log } = deps
  const fixed = Object.entries(deps.securityHeaders).flat()
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { url = '', headers } = request
    if (!url.startsWith(guarded) || headers.cookie !== undefined || hasBody(headers)) return false
    const token = tokenOf(headers.authorization)
    if (!token?.startsWith('hf') || verifiers.readToken(token) || verifiers.service.is(token)) return false
    const id = newRequestId()
    const anonymous = anonymousCallerOf(headers, sourceOf(request), id)
    sendRefusal(response, id, refuse.credential(undefined, anonymous), { log, fixed })
    return true
  }
}
