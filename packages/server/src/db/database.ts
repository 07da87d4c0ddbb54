import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import type { TenantId } from '../kernel/actor.ts'
import { second } from '../kernel/time.ts'
import { Connection, connectionOptions } from './connection.ts'
import { readTimestamp } from './timestamps.ts'
import {
  foreground,
  hasTooManyConnections,
  mayRunAgain,
  openingOf,
  type Patience,
  refusesForNow,
  runOnce,
  stretch,
  type Tx,
} from './transaction.ts'

export { connectionOptions } from './connection.ts'
export { background, bulk, foreground, type Patience, RunAgain, type Tx, UnknownOutcome } from './transaction.ts'

// Reads bigint (counts, sequence numbers, bytes) and numeric (percentages) as numbers.
const readers = new Map<number, (text: string) => unknown>([
  [20, Number],
  [1700, Number],
  [1184, readTimestamp],
])
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && readers.get(oid)) || pg.types.getTypeParser(oid, format ?? 'text'),
}

/**
 * `work` may run again from its start if its transaction was aborted by a conflict or lost its connection. So it must
 * have no effect outside `tx`, except through `afterCommit`.
 */
export type Database = {
  /** Runs `work` in a transaction that reads and writes rows of this tenant only. */
  inTenant: <T>(tenant: TenantId, work: (tx: Tx) => Promise<T>, patience?: Patience) => Promise<T>
  /**
   * Runs `work` in a transaction without tenant isolation: for sign-in and credential look-up, where the tenant is not
   * known yet, and for jobs over all tenants.
   */
  acrossTenants: <T>(work: (tx: Tx) => Promise<T>, patience?: Patience) => Promise<T>
  /**
   * Runs `work` in the same transaction on rows of another tenant only, then returns to the first tenant. For changes
   * that are recorded in two tenants.
   */
  alsoIn: <T>(tx: Tx, tenant: TenantId, work: (tx: Tx) => Promise<T>) => Promise<T>
  /** Registers a function to run right after the transaction's commit. It does not run after a rollback. */
  afterCommit: (tx: Tx, work: () => void) => void
  /** Current number of connections, of idle ones, and of transactions that wait for one. */
  connections: () => { open: number; idle: number; waiting: number }
  /** Waits as long as a request may take, then cuts the transactions that still run. */
  close: () => Promise<void>
}

const acrossAll = '*'
type Scope = TenantId | typeof acrossAll
const tries = 3
/** Remaining time of a transaction, in ms, below which it is not retried. */
const worthTrying = second
/** Time in ms for which the pool stays at its reduced size after the server refused a connection. */
const narrowForMs = 10_000

export function connectDatabase(
  url: string,
  {
    max = 20,
    onError,
    slowness = 1,
  }: {
    max?: number
    onError: (e: Error) => void
    /** Factor on all timeouts, for tests. */
    slowness?: number
  },
): Database {
  let hasTotal = false
  const pool = new pg.Pool({
    connectionString: url,
    max,
    types,
    options: connectionOptions,
    connectionTimeoutMillis: foreground.connect * slowness,
    idleTimeoutMillis: 60_000,
    Client: Connection,
    onConnect: async (client) => {
      const { rows } = await client.query<{ number: number }>(
        "select current_setting('server_version_num')::int as number",
      )
      hasTotal = rows[0]!.number >= 170_000
    },
  })
  let isClosing = false
  // Without this listener, an idle connection closed by the server would end the process. While the pool closes, such
  // an error is expected, since the server may shut down at the same time.
  pool.on('error', (e) => {
    if (!isClosing) onError(e)
  })
  const open = new Set<Connection>()
  pool.on('connect', (client) => open.add(client as Connection & pg.PoolClient))
  pool.on('remove', (client) => open.delete(client as Connection & pg.PoolClient))
  const committed = new WeakMap<object, (() => void)[]>()
  const scopes = new WeakMap<object, TenantId>()

  /** Returns a free or a new connection. Waits for a server that is full or restarting. */
  async function acquire(until: number): Promise<Connection & pg.PoolClient> {
    for (;;) {
      try {
        return await takeUntil(until)
      } catch (e) {
        if (hasTooManyConnections(e)) narrow()
        const pause = 20 + Math.random() * 60
        if (!refusesForNow(e) || performance.now() + pause > until) throw e
        await delay(pause)
      }
    }
  }
  /**
   * A connection that comes too late goes back to the pool. Uses a plain timer, since this runs for every transaction.
   */
  const takeUntil = (until: number): Promise<Connection & pg.PoolClient> =>
    new Promise((resolve, reject) => {
      let isLate = false
      const timer = setTimeout(
        () => {
          isLate = true
          reject(new Error('timeout exceeded when trying to connect'))
        },
        Math.max(1, until - performance.now()),
      )
      pool
        .connect()
        .finally(() => clearTimeout(timer))
        .then((client) => (isLate ? client.release() : resolve(client as Connection & pg.PoolClient)), reject)
    })
  /** Limits the pool to its open connections for a while: other transactions queue instead of asking a full server. */
  function narrow() {
    pool.options.max = Math.max(1, open.size)
    setTimeout(() => {
      pool.options.max = max
    }, narrowForMs).unref()
  }

  async function attempt<T>(scope: Scope, work: (tx: Tx) => Promise<T>, patience: Patience, deadline: number) {
    const client = await acquire(Math.min(performance.now() + patience.connect, deadline))
    const after: (() => void)[] = []
    const done = await runOnce(client, {
      opening: openingOf(scope, patience, { left: deadline - performance.now(), hasTotal }),
      deadline,
      work: (tx) => {
        committed.set(tx, after)
        if (scope !== acrossAll) scopes.set(tx, scope)
        return work(tx)
      },
    })
    if (!done.sound) client.cut()
    client.release(!done.sound)
    if ('error' in done) throw done.error
    for (const f of after)
      try {
        f()
      } catch (e) {
        onError(e as Error)
      }
    return done.result
  }

  async function transact<T>(scope: Scope, work: (tx: Tx) => Promise<T>, usual: Patience): Promise<T> {
    const patience = slowness === 1 ? usual : stretch(usual, slowness)
    const deadline = performance.now() + patience.total
    for (let n = 1; ; n++) {
      try {
        return await attempt(scope, work, patience, deadline)
      } catch (e) {
        if (n === tries || !mayRunAgain(e) || performance.now() > deadline - worthTrying) throw e
        await delay(Math.random() * 30 * n)
      }
    }
  }

  return {
    inTenant: (tenant, work, patience = foreground) => transact(uuidOnly(tenant), work, patience),
    acrossTenants: (work, patience = foreground) => transact(acrossAll, work, patience),
    alsoIn: async (tx, tenant, work) => {
      const own = scopes.get(tx)
      if (own === undefined) throw new Error('alsoIn outside the transaction of a tenant')
      const scopeTo = (to: TenantId) => sql.raw(`set local holdfast.tenant = '${uuidOnly(to)}'`).execute(tx)
      await scopeTo(tenant)
      const result = await work(tx)
      await scopeTo(own)
      return result
    },
    afterCommit: (tx, work) => {
      const after = committed.get(tx)
      if (!after) throw new Error('afterCommit outside a transaction')
      after.push(work)
    },
    connections: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: async () => {
      isClosing = true
      const late = setTimeout(() => {
        for (const connection of open) connection.cut()
      }, foreground.total)
      await pool.end()
      clearTimeout(late)
    },
  }
}

/** The scope is written into the statement, which saves a round trip. This check admits only a UUID. */
const uuidOnly = (tenant: TenantId) => {
  if (!/^[0-9a-f-]{36}$/.test(tenant)) throw new Error('not a tenant id')
  return tenant
}
