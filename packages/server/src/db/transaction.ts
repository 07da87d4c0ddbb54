import {
  type CompiledQuery,
  type DatabaseConnection,
  DefaultQueryExecutor,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  PostgresQueryCompiler,
  type QueryResult,
  SingleConnectionProvider,
} from 'kysely'
import type pg from 'pg'
import { AppError } from '../kernel/app-error.ts'
import { minute, second } from '../kernel/time.ts'
import type { Connection } from './connection.ts'
import type { Tables } from './tables/index.ts'

declare const inTransaction: unique symbol
/** An open transaction whose tenant is set. Only `Database` makes one, so a query can't run outside the tenant wall. */
export type Tx = Kysely<Tables> & { readonly [inTransaction]: true }

/** How long a transaction may take in all, from asking for a connection to the answer of its commit; and its parts. */
export type Patience = { total: number; connect: number; statement: number; lock: number; idle: number }
/** Somebody waits for the answer. */
export const foreground: Patience = {
  total: 3 * second,
  connect: 2 * second,
  statement: 2 * second,
  lock: 1.5 * second,
  idle: second,
}
/** One write of far more than is usual, by a machine that waits. What is small takes `foreground`, also there. */
export const bulk: Patience = { ...foreground, total: 12 * second, statement: 10 * second }
/** Sweeps, and reading a whole fleet. */
export const background: Patience = {
  total: 3 * minute,
  connect: 5 * second,
  statement: minute,
  lock: 4 * second,
  idle: 10 * second,
}
/** The same, `n` times as long. */
export const stretch = ({ total, connect, statement, lock, idle }: Patience, n: number): Patience => ({
  total: total * n,
  connect: connect * n,
  statement: statement * n,
  lock: lock * n,
  idle: idle * n,
})
/** The server gives up this much earlier than we do. */
const earlier = 100

/** The commit was sent and not answered: what the transaction did may hold or not. */
export class UnknownOutcome extends AppError {
  constructor(cause: unknown) {
    super('internal_error', 'the outcome of this change is unknown: read before you try again', {
      cause,
      retryAfterSeconds: 2,
    })
  }
}

/** What was read before its lock holds no longer: the transaction begins again with what holds now. */
export class RunAgain extends AppError {
  constructor(what: string) {
    super('internal_error', `${what}: try again`, { retryAfterSeconds: 1 })
  }
}

const adapter = new PostgresAdapter()
const compiler = new PostgresQueryCompiler()
const driver = new DummyDriver()
const dialect = new PostgresDialect({ pool: () => Promise.reject(new Error('a transaction has its connection')) })

/** Statements of one transaction; refuses those that come after its end. */
class OneTransaction implements DatabaseConnection {
  readonly #client: pg.ClientBase
  #ended = false
  constructor(client: pg.ClientBase) {
    this.#client = client
  }
  end(): void {
    this.#ended = true
  }
  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#ended) throw new Error('a statement after the end of its transaction')
    const { command, rowCount, rows } = await this.#answer({ text: sql, values: [...parameters] })
    const writes = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE' || command === 'MERGE'
    return { rows: rows ?? [], ...(writes && { numAffectedRows: BigInt(rowCount ?? 0) }) }
  }
  /**
   * By a callback given at once. For a promise pg sets one later, as a property: V8 makes such a function old at birth,
   * and all rows that it leads to outlive every collection but that of the whole heap.
   */
  #answer(query: pg.QueryConfig): Promise<pg.QueryResult> {
    const answered = new Promise<pg.QueryResult>((resolve, reject) => {
      this.#client.query(query, (e: Error | null, result: pg.QueryResult) => (e ? reject(e) : resolve(result)))
    })
    return answered.catch((e: Error) => {
      // It names the socket that was read, and is to name who asked.
      Error.captureStackTrace(e)
      throw e
    })
  }
  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('results are read in pages, not streamed')
  }
}

/**
 * Runs `work` between begin and commit on this client, until `deadline` (of `performance.now()`). `sound` says whether
 * the connection can be used again: after anything but an answered commit or rollback it can not.
 */
export async function runOnce<T>(
  client: Connection,
  { opening, deadline, work }: { opening: string; deadline: number; work: (tx: Tx) => Promise<T> },
): Promise<{ sound: boolean; committed: boolean } & ({ result: T } | { error: unknown })> {
  const connection = new OneTransaction(client)
  const executor = new DefaultQueryExecutor(compiler, adapter, new SingleConnectionProvider(connection))
  const tx = new Kysely<Tables>({ config: { dialect }, dialect, driver, executor }) as Tx
  const stay = client.cutAfter(Math.max(1, deadline - performance.now()))
  let warned = false
  const warn = () => {
    warned = true
  }
  try {
    try {
      await client.query(opening)
      const result = await work(tx)
      connection.end()
      // Too late to hear of its outcome.
      if (performance.now() > deadline)
        throw new AppError('internal_error', 'this took too long; nothing was changed', { retryAfterSeconds: 2 })
      // A commit that no longer waits for its standby says so in a warning and is no promise.
      client.on('notice', warn)
      const answer = await client.query('commit').catch((e: unknown) => e as Error)
      if (answer instanceof Error) {
        if (!isDecided(answer)) return { sound: false, committed: false, error: new UnknownOutcome(answer) }
        throw answer
      }
      if (answer.command !== 'COMMIT')
        throw new Error('a failed statement was ignored: its transaction was rolled back')
      if (warned)
        return { sound: true, committed: false, error: new UnknownOutcome(new Error('commit with a warning')) }
      return { sound: true, committed: true, result }
    } catch (e) {
      connection.end()
      const sound = await client.query('rollback').then(
        () => true,
        () => false,
      )
      return { sound, committed: false, error: e }
    }
  } finally {
    client.off('notice', warn)
    stay()
  }
}

/** `begin` with everything that must hold inside, in one round trip. */
export function openingOf(scope: string, patience: Patience, { left, hasTotal }: { left: number; hasTotal: boolean }) {
  const total = Math.max(1, Math.floor(left - earlier))
  const statement = Math.min(patience.statement, total)
  const settings = [
    'role = holdfast_app',
    `holdfast.tenant = '${scope}'`,
    `statement_timeout = ${statement}`,
    `lock_timeout = ${Math.min(patience.lock, statement)}`,
    `idle_in_transaction_session_timeout = ${patience.idle}`,
    ...(hasTotal ? [`transaction_timeout = ${total}`] : []),
  ]
  return `begin; ${settings.map((s) => `set local ${s}`).join('; ')}`
}

const codeOf = (e: unknown) => (e instanceof Error && 'code' in e ? String(e.code) : '')

/** The driver knew that the connection was lost, and sent nothing. */
const neverSent = (e: unknown) => e instanceof Error && /is not queryable$/.test(e.message)

/**
 * Whether a commit certainly failed: it was never sent, or the server refused it. A connection lost under way and a
 * shutdown leave it open.
 */
const isDecided = (e: Error) =>
  neverSent(e) || (/^[0-9A-Z]{5}$/.test(codeOf(e)) && !/^(08|53|57|58|XX)/.test(codeOf(e)))

/** Lost to another transaction, to a stall of this process, or with its connection, and certainly not committed. */
export const mayRunAgain = (e: unknown): boolean =>
  e instanceof RunAgain ||
  neverSent(e) ||
  /^(40001|40P01|25P03|57P0[123]|08...|ECONNRESET|EPIPE)$/.test(codeOf(e)) ||
  (e instanceof Error && /^Connection terminated/.test(e.message))

/** There is no connection now and may be one in a moment: all in use, server full, starting, stopping, restarting. */
export const refusesForNow = (e: unknown): boolean =>
  /^(53300|57P03|57P01|ECONNREFUSED|ECONNRESET|ENOENT)$/.test(codeOf(e)) ||
  (e instanceof Error && /^timeout exceeded/.test(e.message))
export const isFull = (e: unknown): boolean => codeOf(e) === '53300'
