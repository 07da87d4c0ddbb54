import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export type Posted = { headers: IncomingHttpHeaders; body: string }

/** A webhook receiver that answers with these statuses in turn, and then with the last of them. */
export async function startReceiver(t: TestContext, ...statuses: number[]) {
  const posted: Posted[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    posted.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
    const status = statuses.length > 1 ? statuses.shift()! : statuses[0]!
    response.writeHead(status, { location: 'http://127.0.0.1:1/elsewhere' }).end('x'.repeat(200_000))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/path-that-is-a-secret`, posted }
}
