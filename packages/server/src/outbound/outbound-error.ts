/**
 * Error of a request to a tenant's URL. `refused`: it was not sent, because its destination is not allowed. The message
 * is one sentence that the tenant may read; it contains neither the URL nor any data of the other side.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
  readonly code: 'refused' | 'unresolved' | 'unreachable' | 'timeout' | 'too_large'
  constructor(code: OutboundError['code'], message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

const refusedTls = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|EPROTO)/

/** Converts an error of undici, the resolver or a socket. */
export function toOutboundError(e: unknown): OutboundError {
  if (e instanceof OutboundError) return e
  const { cause, code, name } = e as { cause?: unknown; code?: unknown; name?: unknown }
  if (cause instanceof OutboundError) return cause
  const errorCode = typeof code === 'string' ? code : ''
  if (name === 'TimeoutError' || errorCode === 'ETIMEDOUT' || /^UND_ERR_\w*TIMEOUT$/.test(errorCode))
    return new OutboundError('timeout', 'The server at the URL did not answer in time.', e)
  if (refusedTls.test(errorCode))
    return new OutboundError('unreachable', `The TLS connection failed (${errorCode}).`, e)
  return new OutboundError('unreachable', `The connection failed${errorCode ? ` (${errorCode})` : ''}.`, e)
}
