import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import type { Contract, Input } from '@holdfast/contract'
import { canonicalJson } from '@holdfast/crypto'
import { uuidv7 } from 'uuidv7'
import { encodeId } from '../../../src/kernel/ids.ts'
import type { Kit } from '../deployment/deployment.ts'
import { until } from '../deployment/wait-until.ts'

/** Loopback is inside. */
export const opened = { allowedPrivateCidrs: ['127.0.0.0/8'] }

export type Received = { seq: number; kind: string; event_id: string } & Record<string, unknown>
type Ends = { after: (end: () => unknown) => unknown }

const listen = async (server: Server, port = 0): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** The frames of RFC 6587 §3.4.1 in the bytes of one connection; a truncated one at the end is left out. */
export function framesIn(bytes: Buffer): string[] {
  const frames: string[] = []
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(' ', at)
    const length = Number(bytes.toString('latin1', at, space))
    if (space < 0 || !(length > 0) || space + 1 + length > bytes.length) break
    frames.push(bytes.toString('utf8', space + 1, space + 1 + length))
    at = space + 1 + length
  }
  return frames
}
/** The event in a message of RFC 5424 whose text is JSON, with a BOM or without. */
export const eventIn = (frame: string): Received => JSON.parse(frame.replace(/^.*?\] \ufeff?(?=\{)/s, '')) as Received

/** A syslog receiver. Messages count once their connection ends properly; `meddle` may disturb a connection. */
export async function startSyslog(
  t: Ends,
  options: { tls?: TlsOptions; meddle?: (socket: Socket, nth: number) => boolean } = {},
) {
  const frames: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const onConnection = (socket: Socket) => {
    const chunks: Buffer[] = []
    socket.on('error', () => {})
    if (options.meddle?.(socket, connections++)) return
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('end', () => {
      frames.push(...framesIn(Buffer.concat(chunks)))
      socket.end()
    })
  }
  const allowHalfOpen = true
  const server = options.tls
    ? createTlsServer({ ...options.tls, allowHalfOpen }, onConnection)
    : createTcpServer({ allowHalfOpen }, onConnection)
  // Below TLS, so that connections without a finished handshake are ended too.
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const port = await listen(server)
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port, frames, events: () => frames.map(eventIn), connections: () => connections }
}

export type Request = { url: string; headers: IncomingHttpHeaders; body: string }
/** A receiver over HTTP. */
export async function startHttp(t: Ends, answer: (request: Request, response: ServerResponse) => void) {
  const requests: Request[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const asked = { url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() }
    requests.push(asked)
    answer(asked, response)
  })
  const port = await listen(server)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${port}`, requests }
}
export const eventsIn = ({ body }: Pick<Request, 'body'>): Received[] =>
  (JSON.parse(body) as { data: { events: Received[] } }).data.events

type Body = Input<Contract['createSiemConnector']>['body']
export const toSyslog = (port: number, more: Partial<Body> = {}): Body => ({
  kind: 'syslog_tcp',
  name: 'soc',
  format: 'json',
  host: '127.0.0.1',
  port,
  ...more,
})
export const toWebhook = (url: string, more: Partial<Body> = {}): Body => ({
  kind: 'webhook',
  name: 'soc',
  format: 'json',
  url: `${url}/hook`,
  ...more,
})

/** Adds this number of events, each identified by a number, for the sequencer. */
export const arrive = (
  kit: Pick<Kit, 'db' | 'tenant'>,
  count: number,
  from = 1,
  padding: (n: number) => string = () => '',
  at = new Date(),
) =>
  kit.db.inTenant(kit.tenant, async (tx) => {
    const tenant_id = kit.tenant
    const party = { actor_id: null, actor_name: null, target_id: null, target_name: null }
    const rows = Array.from({ length: count }, (_, i) => {
      const id = uuidv7()
      const event = {
        event_id: encodeId('audit_event', id),
        tenant_id: encodeId('tenant', tenant_id),
        kind: 'user.changed',
        timestamp: at.toISOString(),
        outcome: 'success',
        operation: `n${from + i}${padding(from + i)}`,
        actor: { type: 'job', id: null, name: null },
        target: null,
        source_ip: null,
        user_agent: null,
        request_id: null,
        origin: 'job',
        user_id: 'usr_1',
      }
      const common = { tenant_id, event_id: id, at, kind: event.kind, outcome: 'success' as const }
      return { ...common, ...party, source_ip: null, request_id: null, record: canonicalJson(event) }
    })
    await tx.insertInto('audit_arrivals').values(rows).execute()
  })

/** The numbers of events from `arrive`, in order of their first arrival. */
export const numbersIn = (events: readonly Received[]): number[] => [
  ...new Set(events.flatMap(({ operation }) => /^n(\d+)/.exec(String(operation))?.[1] ?? []).map(Number)),
]
export const oneTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)
export const untilCame = (events: () => readonly Received[], n: number) =>
  until(() => numbersIn(events()).length >= n, `${n} events`)
