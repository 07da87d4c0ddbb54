import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'

/** A request as a browser or curl would send it, without any added headers. */
export type RawRequest = {
  method?: string
  path: string
  json?: unknown
  form?: Record<string, string>
  xml?: string
  headers?: Record<string, string | string[]>
  /** The loopback address to connect from. */
  localAddress?: string
}
// biome-ignore lint/suspicious/noExplicitAny: an answer has any content, which the test checks.
export type RawAnswer = { status: number; headers: IncomingHttpHeaders; text: string; json: any }

export function send(
  url: string,
  { method = 'GET', path, json, form, xml, headers = {}, localAddress }: RawRequest,
): Promise<RawAnswer> {
  const body = json !== undefined ? JSON.stringify(json) : form ? new URLSearchParams(form).toString() : xml
  const type = json !== undefined ? 'application/json' : form ? 'application/x-www-form-urlencoded' : 'application/xml'
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const request = httpRequest(
    new URL(path, url),
    {
      method,
      agent: false,
      headers: {
        ...(body !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
      ...(localAddress && { localAddress }),
    },
    (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const isJson = text !== '' && response.headers['content-type']?.startsWith('application/json')
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: isJson ? JSON.parse(text) : undefined,
        })
      })
    },
  )
  request.on('error', reject)
  request.end(body)
  return promise
}

export const cookieOf = (got: RawAnswer): string => String(got.headers['set-cookie']).split(';')[0] ?? ''

/** Sends the cookie, and this site's origin, as a browser does. */
export const createCookieClient = (url: string, origin: string, cookie: string) => ({
  get: (path: string) => send(url, { path, headers: { cookie } }),
  post: (path: string, more: Partial<RawRequest> = {}) =>
    send(url, { method: 'POST', path, ...more, headers: { cookie, origin, ...more.headers } }),
})

/** The whole answer to a GET of a path that a URL parser would normalize. */
export async function getExactPath(url: string, path: string, cookie?: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const fields = ['Host: x', 'Accept: text/html', ...(cookie ? [`Cookie: ${cookie}`] : []), 'Connection: close']
  socket.end(`GET ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}
