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
 * Opens a local port to which a browser brings the answer of another server (RFC 8252). `read` recognises the answer;
 * other requests get 404. The port is closed after the first answer or at `until`.
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
      return void response.writeHead(404, pageHeaders).end(page('This answer belongs to another sign-in.'))
    response.writeHead(200, pageHeaders).end(page('Your sign-in is complete.'))
    // The answer counts even if the browser closes before it has read the page.
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
  throw new NotSignedIn('The sign-in took too long. Start it again.')
}
