import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { connectionOptions } from '../db/database.ts'
import type { TenantId } from '../kernel/actor.ts'
import { AppError } from '../kernel/app-error.ts'
import type { Change, ChangeKind, Changes } from './changes.ts'

const heartbeatMs = 400
/** How long a replica's memory counts as fresh after the last proof. */
const freshMs = 1000
const answerWithinMs = 1500

/**
 * Keeps this replica's memory true. One connection listens; a notification, or the heartbeat, compares the epoch of
 * every tenant with what was applied and reads what is missing. A lost notification is therefore only a delay, and an
 * unanswered heartbeat makes `isFresh` false.
 */
export function createFeed(url: string, changes: Changes, log: { warn: (o: object, message: string) => void }) {
  const applied = new Map<string, number>()
  // Own commits may be told out of order; they count once everything before them was seen.
  const ahead = new Map<string, Set<number>>()
  let client: pg.Client | undefined
  let provenAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> | undefined
  let again = false
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  /** A commit of this replica waits to be told to the others, who then compare. */
  let mustAnnounce = false
  const replica = randomUUID()

  changes.onChange((tenant, seq) => {
    const known = applied.get(tenant)
    if (known === undefined || seq <= known) return
    const waiting = ahead.get(tenant) ?? new Set()
    ahead.set(tenant, waiting.add(seq))
    let next = known
    while (waiting.delete(next + 1)) next++
    applied.set(tenant, next)
  })

  async function connect(): Promise<pg.Client> {
    const c = new pg.Client({
      connectionString: url,
      options: `${connectionOptions} -c holdfast.tenant=*`,
      connectionTimeoutMillis: answerWithinMs,
      query_timeout: answerWithinMs,
      keepAlive: true,
    })
    const drop = () => {
      if (client === c) client = undefined
      c.end().catch(() => {})
    }
    c.on('error', drop)
    c.on('end', drop)
    c.on('notification', ({ payload }) => {
      if (payload !== replica) void poll()
    })
    await c.connect()
    await c.query('listen holdfast')
    client = c
    return c
  }

  async function pollOnce(): Promise<void> {
    const startedAt = performance.now()
    const c = client ?? (await connect())
    if (mustAnnounce) {
      mustAnnounce = false
      await c.query("select pg_notify('holdfast', $1)", [replica])
    }
    const epochs = await c.query<{ tenant_id: TenantId; seq: string }>('select tenant_id, seq from tenant_epochs')
    for (const row of epochs.rows) {
      const seq = Number(row.seq)
      const known = applied.get(row.tenant_id)
      // At start nothing is remembered yet; a tenant that appears later is heard of from its beginning.
      if (known === undefined && provenAt < 0) applied.set(row.tenant_id, seq)
      else if (seq > (known ?? 0)) await catchUp(c, row.tenant_id, known ?? 0)
    }
    provenAt = startedAt
  }

  async function catchUp(c: pg.Client, tenant: TenantId, known: number): Promise<void> {
    const { rows } = await c.query<{ seq: string; kind: ChangeKind; subject: string }>(
      'select seq, kind, subject from changes where tenant_id = $1 and seq > $2 order by seq',
      [tenant, known],
    )
    const bySeq = Map.groupBy(rows, (r) => Number(r.seq))
    if (!applied.has(tenant)) applied.set(tenant, known)
    for (const [seq, list] of bySeq) changes.tell(tenant, seq, list satisfies Change[])
  }

  /** One comparison at a time; a call during one leads to another right after it. */
  function poll(): Promise<void> {
    if (running) {
      again = true
      return running
    }
    running = pollOnce()
      .catch((e: Error) => {
        log.warn({ err: e }, 'change feed lost its connection; reconnecting')
        const broken = client
        client = undefined
        broken?.end().catch(() => {})
      })
      .finally(() => {
        running = undefined
        if (again && !stopped) {
          again = false
          void poll()
        }
      })
    return running
  }

  const beat = async () => {
    await poll()
    if (!stopped) timer = setTimeout(beat, client ? heartbeatMs : 100)
  }

  changes.announceWith(() => {
    mustAnnounce = true
    void poll()
  })

  return {
    start: async () => {
      await beat()
    },
    /** Whether what this replica remembers was compared with the database within the last second. */
    isFresh: () => performance.now() - provenAt <= freshMs,
    /**
     * Compares with the database now, for a caller whose memory is not proven fresh. Throws while the database does
     * not answer, so that nothing unproven is served.
     */
    catchUp: async () => {
      const asked = performance.now()
      await poll()
      if (provenAt < asked) await poll()
      if (provenAt < asked) throw new AppError('internal_error', 'unexpected server error', { retryAfterSeconds: 2 })
    },
    /** The newest sequence number of the tenant whose changes were applied here. */
    seqOf: (tenant: TenantId) => applied.get(tenant) ?? 0,
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await running
      await client?.end().catch(() => {})
    },
  }
}
export type Feed = ReturnType<typeof createFeed>
