import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { TestContext } from 'node:test'
import pg from 'pg'
import type { Kit, Replica } from '../deployment/deployment.ts'
import { until } from '../deployment/wait-until.ts'

// biome-ignore lint/suspicious/noExplicitAny: an event has any content, which the test checks.
export type Received = { event: string; id: string; data: any; atMs: number }
export type Opened = {
  status: number
  headers: IncomingHttpHeaders
  received: Received[]
  /** Everything received, including comments and `retry`. */
  text: () => string
  lastId: () => string
  /** The first matching event, already received or still to come. */
  event: (name: string, fits?: (data: Received['data']) => boolean) => Promise<Received>
  /** Waits for a `changed` event that names the list, and returns what it says about the list. */
  changed: (kind: string, id?: string) => Promise<{ ids: string[]; many: boolean }>
  isClosed: () => boolean
  pause: () => void
  close: () => void
}

/** Opens a stream of changes as a browser does, and waits for its response headers. */
export function openStream(url: string, headers: Record<string, string>, query = ''): Promise<Opened> {
  const { promise, resolve, reject } = Promise.withResolvers<Opened>()
  const received: Received[] = []
  let text = ''
  let read = 0
  let lastId = ''
  let isClosed = false
  const readEvents = () => {
    for (let end = text.indexOf('\n\n', read); end >= 0; end = text.indexOf('\n\n', read)) {
      const fields = new Map<string, string>()
      for (const line of text.slice(read, end).split('\n')) {
        const colon = line.indexOf(':')
        if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trim())
      }
      read = end + 2
      lastId = fields.get('id') ?? lastId
      const data = fields.get('data')
      if (data !== undefined)
        received.push({ event: fields.get('event') ?? '', id: lastId, data: JSON.parse(data), atMs: performance.now() })
    }
  }
  const find = async (what: string, fits: (e: Received) => boolean): Promise<Received> => {
    await until(() => received.some(fits), what)
    return received.find(fits)!
  }
  const request = httpRequest(new URL(`/v1/admin/stream${query}`, url), { headers, agent: false }, (response) => {
    response.setEncoding('utf8')
    response.on('data', (piece: string) => {
      text += piece
      readEvents()
    })
    response.on('close', () => {
      isClosed = true
    })
    response.on('error', () => {})
    resolve({
      status: response.statusCode ?? 0,
      headers: response.headers,
      received,
      text: () => text,
      lastId: () => lastId,
      event: (name, fits = () => true) => find(name, (e) => e.event === name && fits(e.data)),
      changed: async (kind, id) => {
        type Said = { kind: string; ids: string[]; many: boolean }
        const said = (e: Received): Said | undefined =>
          e.event === 'changed' ? e.data.changes.find((c: Said) => c.kind === kind) : undefined
        const fits = (e: Received) => {
          const found = said(e)
          return found !== undefined && (id === undefined || found.ids.includes(id))
        }
        return said(await find(`changed ${kind} ${id ?? ''}`, fits))!
      },
      isClosed: () => isClosed,
      pause: () => response.pause(),
      close: () => request.destroy(),
    })
  })
  request.on('error', (e) => (isClosed ? undefined : reject(e)))
  request.end()
  return promise
}

/** Opens streams of changes. All of them are closed after each test, so that none counts in the next. */
export function openStreams(t: TestContext, kit: Kit) {
  const opened: Opened[] = []
  const closeAll = async () => {
    for (const stream of opened.splice(0)) stream.close()
    await until(() => kit.replicas.every(({ app }) => app.stream.count() === 0), 'all streams are closed')
  }
  kit.after(closeAll)
  t.afterEach(closeAll)
  return async (headers: Record<string, string>, query = '', { url }: Pick<Replica, 'url'> = kit) => {
    const stream = await openStream(url, headers, query)
    opened.push(stream)
    return stream
  }
}

/** The database statements during `work` that a stream of changes might have caused. */
export async function statementsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const texts: string[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [config] = given as [string | { text?: string }]
    texts.push(typeof config === 'string' ? config : (config?.text ?? ''))
    return Reflect.apply(query, this, given)
  } as typeof query
  try {
    await work()
  } finally {
    pg.Client.prototype.query = query
  }
  assert.ok(texts.some((text) => /heartbeat/.test(text)))
  return texts.filter((text) => /audit_log|"changes"|admin_sessions|api_keys|gateway_activity|pg_notify/.test(text))
}
