import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Contract, Input } from '@holdfast/contract'
import { type Bench, type Benchmark, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { quantile } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'

const work = 'SIEM forwarding to a local sink'
const perSecond = 2_000
const everyMs = 50
const target = 5_000
const loopback = { HOLDFAST_ALLOWED_PRIVATE_CIDRS: '127.0.0.0/8' }

/** `n` is the event's number, `sentAt` when it was committed, by the clock of this process. */
type Came = { n: number; sentAt: number; cameAt: number }
type Body = Input<Contract['createSiemConnector']>['body']
type Sink = { came: Came[]; body: Body }

/** P20: from the commit of an event until the receiver has read it, at a steady rate. */
export const forwarding: Benchmark = {
  id: 'P20',
  work,
  run: async (bench) => {
    const rows: Row[] = []
    for (const start of [startWebhook, startSyslog]) rows.push(await measure(bench, start))
    return rows
  },
}

async function measure(bench: Bench, start: (bench: Bench) => Promise<Sink>): Promise<Row> {
  const { scale, say } = bench
  const server = await bench.startServer(loopback)
  const { admin } = await openAdmin(server)
  const { came, body } = await start(bench)
  await admin.createSiemConnector({ body })
  const { tenant_id } = await admin.me()
  const seconds = scale.quick ? 5 : 60
  const count = seconds * perSecond
  say(`${count} events to ${body.kind}, ${perSecond} a second`)
  await server.withDatabase(async (client) => {
    const began = performance.now()
    for (let sent = 0; sent < count; ) {
      const due = Math.min(count, Math.floor(((performance.now() - began) / 1000) * perSecond))
      if (due > sent) await client.query(insertion, eventsOf(tenant_id, sent, due))
      sent = due
      await delay(everyMs)
    }
  })
  for (const until = performance.now() + 60_000; performance.now() < until && distinct(came) < count; ) await delay(100)
  await server.stop()
  return rowOf(body.kind, count, came)
}

const distinct = (came: readonly Came[]): number => new Set(came.map(({ n }) => n)).size

function rowOf(kind: string, count: number, came: readonly Came[]): Row {
  const seen = new Set<number>()
  const first = came.filter(({ n }) => !seen.has(n) && seen.add(n))
  const lost = count - first.length
  const disorder = first.filter(({ n }, i) => i > 0 && n < (first[i - 1]?.n ?? 0)).length
  const lags = first.map(({ sentAt, cameAt }) => cameAt - sentAt)
  const p99 = quantile(lags, 0.99)
  return {
    id: 'P20',
    work: `${work}: ${kind}, ${perSecond.toLocaleString('en')} events/s, p99`,
    figure: milliseconds(p99),
    baseline: '–',
    ratio: null,
    target: '≤ 5 s, none lost, none out of order',
    verdict: verdictOf(p99 <= target && lost === 0 && disorder === 0),
    note: `${count.toLocaleString('en')} events; median ${milliseconds(quantile(lags, 0.5))}, longest ${milliseconds(quantile(lags, 1))}; ${lost} lost, ${disorder} out of order, ${came.length - first.length} came twice`,
    rounds: { p99s: [p99] },
  }
}

const insertion = `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, record)
  select t.tenant_id, e.id, clock_timestamp(), 'user.changed', 'success', replace(e.record, 'evt_0', type_id('evt', e.id))
  from tenants t, unnest($1::uuid[], $2::text[]) as e (id, record)`

function eventsOf(tenant_id: string, from: number, to: number): [ids: string[], records: string[]] {
  const ids = Array.from({ length: to - from }, () => randomUUID())
  const sentAt = performance.now()
  const timestamp = new Date().toISOString()
  const records = ids.map((_, i) =>
    JSON.stringify({
      actor: { id: null, name: null, type: 'job' },
      event_id: 'evt_0',
      kind: 'user.changed',
      operation: `${from + i}@${sentAt}`,
      origin: 'job',
      outcome: 'success',
      request_id: null,
      source_ip: null,
      target: null,
      tenant_id,
      timestamp,
      user_agent: null,
      user_id: 'usr_1',
    }),
  )
  return [ids, records]
}

const operation = /"operation":"(\d+)@([\d.]+)"/g
const take = (came: Came[], text: string): void => {
  const cameAt = performance.now()
  for (const [, n, sentAt] of text.matchAll(operation)) came.push({ n: Number(n), sentAt: Number(sentAt), cameAt })
}
const listen = async (bench: Bench, server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  bench.defer(async () => void server.close())
  return (server.address() as AddressInfo).port
}

async function startWebhook(bench: Bench): Promise<Sink> {
  const came: Came[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    take(came, Buffer.concat(chunks).toString())
    response.writeHead(204).end()
  }
  const port = await listen(
    bench,
    createServer((request, response) => void answer(request, response)),
  )
  return { came, body: { kind: 'webhook', name: 'sink', format: 'json', url: `http://127.0.0.1:${port}/` } }
}

async function startSyslog(bench: Bench): Promise<Sink> {
  const came: Came[] = []
  const serve = (socket: Socket) => {
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => {})
    socket.on('end', () => {
      take(came, Buffer.concat(chunks).toString())
      socket.end()
    })
  }
  const port = await listen(bench, createTcpServer({ allowHalfOpen: true }, serve))
  return { came, body: { kind: 'syslog_tcp', name: 'sink', format: 'json', host: '127.0.0.1', port } }
}
