import type { IncomingHttpHeaders } from 'node:http'
import { literalOf } from './address.ts'
import { choose, lookupBySystem, pinnedConnector, type Tls, vet } from './connect.ts'
import { createLookups, type Lookup } from './lookups.ts'
import { OutboundError, toOutboundError } from './outbound-error.ts'
import { checkSocket, openSocket, type SocketTarget } from './socket.ts'

type OutboundRequest = {
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
  /** Limit of the whole request in ms, from the look-up of the name to the last byte. Default: 5 s. */
  timeoutMs?: number
  /** Largest number of bytes to read of the response. Default: 1 MiB. */
  maxResponseBytes?: number
  /** Handling of a larger response: an error, or truncation. */
  whenTooLarge?: 'fail' | 'cut'
  tls?: Tls
  signal?: AbortSignal
}
type OutboundResponse = { status: number; headers: IncomingHttpHeaders; body: Buffer }

const maxRequestBytes = 256 * 1024
const maxUrlLength = 2048

/** Loaded with the first request, since few deployments make any. */
const loadClient = async () => (await import('undici')).default

/**
 * Requests to URLs that a tenant may choose (webhooks, identity providers): https to public addresses, and to private
 * networks that the operator allows. Follows no redirect and reads no proxy from the environment.
 */
export function createOutbound({
  allowedPrivateCidrs,
  lookup = lookupBySystem,
}: {
  allowedPrivateCidrs: readonly string[]
  lookup?: Lookup
}) {
  const resolve = createLookups(lookup)

  /** Checks a URL without looking up its name. Throws OutboundError `refused`. */
  function parse(text: string): URL {
    const refuse = (message: string): never => {
      throw new OutboundError('refused', message)
    }
    if (text.length > maxUrlLength || !URL.canParse(text))
      return refuse('The value must be a URL such as https://example.com/.')
    const url = new URL(text)
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && allowedPrivateCidrs.length > 0))
      refuse('The URL must begin with https://.')
    if (url.username || url.password) refuse('The URL must not contain a user name or password.')
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
    if (port !== 443 && !(port === 80 && url.protocol === 'http:') && port < 1024)
      refuse('The port of the URL must be 443, or 1024 or higher.')
    return url
  }

  async function send(url: URL, options: OutboundRequest, signal: AbortSignal, timeoutMs: number) {
    const { method = 'GET', headers = {}, body, maxResponseBytes = 1024 * 1024, whenTooLarge = 'fail' } = options
    if (body !== undefined && Buffer.byteLength(body) > maxRequestBytes)
      throw new OutboundError('too_large', 'The request is larger than 256 KiB.')
    const addresses = await vet(url, { resolve, allowedPrivateCidrs, signal })
    const { Agent, buildConnector, request } = await loadClient()
    const dispatcher = new Agent({
      connect: pinnedConnector(buildConnector, addresses, { timeoutMs, tls: options.tls }),
      maxHeaderSize: 16 * 1024,
    })
    try {
      const response = await request(url, {
        method,
        headers,
        dispatcher,
        signal,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        ...(body !== undefined && { body }),
      })
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of response.body as AsyncIterable<Buffer>) {
        chunks.push(chunk.subarray(0, maxResponseBytes - size))
        size += chunk.length
        if (size <= maxResponseBytes) continue
        if (whenTooLarge === 'fail') throw new OutboundError('too_large', 'The answer is too large.')
        break
      }
      return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }
    } finally {
      await dispatcher.destroy()
    }
  }

  return {
    /**
     * For a setting before it is stored: returns the sentence why this URL would be refused, or undefined. The
     * addresses of a name are checked at each request.
     */
    refusalOf: (text: string): string | undefined => {
      try {
        const url = parse(text)
        const literal = literalOf(url.hostname)
        if (literal !== undefined) choose(url, [literal], allowedPrivateCidrs)
        return undefined
      } catch (e) {
        return toOutboundError(e).message
      }
    },

    /** The same for a socket. */
    socketRefusalOf: (target: SocketTarget): string | undefined => {
      try {
        checkSocket(target, allowedPrivateCidrs)
        return undefined
      } catch (e) {
        return toOutboundError(e).message
      }
    },

    /** Opens a connection over TCP, or TLS on it, to a checked address. The caller closes it. */
    connect: async (target: SocketTarget, { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal }) => {
      const limit = AbortSignal.timeout(timeoutMs)
      try {
        checkSocket(target, allowedPrivateCidrs)
        const within = { timeoutMs, signal: AbortSignal.any([limit, signal]) }
        return await openSocket(target, { resolve, allowedPrivateCidrs, ...within })
      } catch (e) {
        throw toOutboundError(limit.aborted ? limit.reason : e)
      }
    },

    /** Returns responses of any status, 3xx too. Throws OutboundError. */
    request: async (text: string, options: OutboundRequest = {}): Promise<OutboundResponse> => {
      const { timeoutMs = 5000 } = options
      const limit = AbortSignal.timeout(timeoutMs)
      const signal = options.signal ? AbortSignal.any([limit, options.signal]) : limit
      try {
        return await send(parse(text), options, signal, timeoutMs)
      } catch (e) {
        throw toOutboundError(limit.aborted ? limit.reason : e)
      }
    },
  }
}
export type Outbound = ReturnType<typeof createOutbound>
