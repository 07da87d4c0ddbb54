import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Asked = {
  method: string
  url: URL
  headers: Record<string, string | string[] | undefined>
  form: URLSearchParams
}
export type Reply = { status?: number; json?: unknown; raw?: string | Buffer; headers?: Record<string, string> }
/** 'hang': no answer. 'cut': the connection is closed without an answer. */
type Special = Reply | 'hang' | 'cut' | undefined
type Meddle = (asked: Asked, n: number) => Special | Promise<Special>

/** A simulated directory on loopback. A test may replace its answers with `meddle`. */
export async function startDirectoryServer(
  t: { after: (end: () => void) => void },
  answer: (asked: Asked) => Reply | Promise<Reply>,
) {
  const asked: string[] = []
  let meddle: Meddle = () => undefined
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const url = new URL(request.url ?? '/', origin)
    const one = { method: request.method ?? '', url, headers: request.headers, form: new URLSearchParams(body) }
    asked.push(`${one.method} ${url.pathname}${decodeURIComponent(url.search)}`)
    const special = await meddle(one, asked.length)
    if (special === 'hang') return
    if (special === 'cut') return void request.socket.destroy()
    const { status = 200, json, raw, headers = {} } = special ?? (await answer(one))
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(raw ?? (json === undefined ? '' : JSON.stringify(json)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    origin,
    /** Every request, in order. */
    asked,
    /** Replaces the directory's answers; undefined leaves an answer unchanged. */
    meddle: (with_: Meddle = () => undefined) => {
      meddle = with_
    },
  }
}
export type DirectoryServer = Awaited<ReturnType<typeof startDirectoryServer>>
