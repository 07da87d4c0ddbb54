import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { NotSignedIn } from './exit.ts'

const page = (text: string) =>
  `<!doctype html><meta charset="utf-8"><title>Holdfast</title><p>${text} You can close this window.</p>`
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'",
  connection: 'close',
}

/**
 * A port of this machine to which a browser brings the answer of somebody else (RFC 8252). `read` says what an answer
 * is; whatever else asks is told nothing, and the port is closed with the first answer or `until`.
 */
export async function withLoopback<T, R>(
  read: (request: IncomingMessage, url: URL) => T | undefined | Promise<T | undefined>,
  work: (redirectUri: string, answerUntil: (until: Date) => Promise<T>) => Promise<R>,
): Promise<R> {
  const closed = new AbortController()
  const { promise: answer, resolve: settle } = Promise.withResolvers<T>()
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const found =
      url.pathname === '/callback' ? await Promise.try(read, request, url).catch(() => undefined) : undefined
    if (found === undefined)
      return void response.writeHead(404, pageHeaders).end(page('This is not the answer that is waited for.'))
    response.writeHead(200, pageHeaders).end(page('Your answer has arrived.'))
    // A browser that is gone before it has read that has brought its answer all the same.
    await finished(response).catch(() => {})
    settle(found)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  try {
    return await work(redirectUri, (until) => Promise.race([answer, tooLate(until, closed.signal)]))
  } finally {
    closed.abort()
    server.close()
    server.closeAllConnections()
  }
}

async function tooLate(until: Date, signal: AbortSignal): Promise<never> {
  await delay(Math.max(0, until.getTime() - Date.now()), undefined, { signal })
  throw new NotSignedIn('Nobody signed in in time. Begin again.')
}
