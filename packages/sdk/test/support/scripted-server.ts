import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export type Asked = {
  method: string
  path: string
  search: string
  url: string
  headers: IncomingHttpHeaders
  body: unknown
}
export type Answered = { status?: number; headers?: Record<string, string>; body?: unknown; text?: string } | 'hang up'

/** Starts a server on loopback that gives the test's answers and records the requests. */
export async function startServer(t: TestContext, answer: (asked: Asked) => Answered | Promise<Answered>) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const url = new URL(request.url ?? '/', baseUrl)
    const one: Asked = {
      method: request.method ?? '',
      path: url.pathname,
      search: url.search,
      url: url.origin + url.pathname,
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
    asked.push(one)
    const answered = await answer(one)
    if (answered === 'hang up') return request.socket.destroy()
    response.writeHead(answered.status ?? 200, { 'content-type': 'application/json', ...answered.headers })
    response.end(answered.status === 304 ? undefined : (answered.text ?? JSON.stringify(answered.body ?? {})))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { baseUrl, asked }
}
