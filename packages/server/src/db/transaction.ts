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
/** An open transaction with its tenant set. Only `Database` creates one, so no query runs outside tenant isolation. */
export type Tx = Kysely<Tables> & { readonly [inTransaction]: true }

/**
 * Timeouts of a transaction in ms: the total from acquiring a connection to the answer of the commit, and its parts.
 */
export type Patience = { total: number; connect: number; statement: number; lock: number; idle: number }
/** For transactions of a waiting client. */
export const foreground: Patience = {
  total: 3 * second,
  connect: 2 * second,
  statement: 2 * second,
  lock: 1.5 * second,
  idle: second,
}
/** For one unusually large write by a machine client. Small writes of such clients take `foreground`. */
export const bulk: Patience = { ...foreground, total: 12 * second, statement: 10 * second }
/** For background jobs, and for reading a whole fleet. */
export const background: Patience = {
  total: 3 * minute,
  connect: 5 * second,
  statement: minute,
  lock: 4 * second,
  idle: 10 * second,
}
/** Multiplies all timeouts by `n`. */
export const stretch = ({ total, connect, statement, lock, idle }: Patience, n: number): Patience => ({
  total: total * n,
  connect: connect * n,
  statement: statement * n,
  lock: lock * n,
  idle: idle * n,
})
/** Time in ms by which the server's timeout is shorter than the client's. */
const earlier = 100

/** The commit was sent but not answered: it may or may not have succeeded. */
export class UnknownOutcome extends AppError {
  constructor(cause: unknown) {
    super('internal_error', 'the outcome of this change is unknown: read the object before you repeat the request', {
      cause,
      retryAfterSeconds: 2,
    })
  }
}

/** Data read before its lock has changed: the transaction starts again with the current data. */
export class RunAgain extends AppError {
  constructor(what: string) {
    super('internal_error', `${what}: try again`, { retryAfterSeconds: 1 })
  }
}

const adapter = new PostgresAdapter()
const compiler = new PostgresQueryCompiler()
const driver = new DummyDriver()
const dialect = new PostgresDialect({
  pool: () => Promise.reject(new Error('a transaction already holds this connection')),
})

/** The connection of one transaction. Refuses statements after its end. */
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
    if (this.#ended) throw new Error('a statement was sent after the end of its transaction')
    const { command, rowCount, rows } = await this.#answer({ text: sql, values: [...parameters] })
    const writes = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE' || command === 'MERGE'
    return { rows: rows ?? [], ...(writes && { numAffectedRows: BigInt(rowCount ?? 0) }) }
  }
  /**
   * Uses a callback that is passed in the call. For a promise, pg sets the callback later as a property; V8 allocates
   * such a function in the old generation, and all rows reachable from it survive until a full collection.
   */
  #answer(query: pg.QueryConfig): Promise<pg.QueryResult> {
    const answered = new Promise<pg.QueryResult>((resolve, reject) => {
      this.#client.query(query, (e: Error | null, result: pg.QueryResult) => (e ? reject(e) : resolve(result)))
    })
    return answered.catch((e: Error) => {
      // The stack of the error shows the socket's read. It is replaced by the caller's stack.
      Error.captureStackTrace(e)
      throw e
    })
  }
  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streamed results are not supported: read them in pages')
  }
}

/**
 * Runs `work` between begin and commit on this client, until `deadline` (of `performance.now()`). `sound` is true if
 * the connection can be reused: only after an answered commit or rollback.
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
      // Too late to receive the commit's answer.
      if (performance.now() > deadline)
        throw new AppError('internal_error', 'the request took too long; nothing was changed', { retryAfterSeconds: 2 })
      // A commit that stops waiting for its standby returns a warning, so its durability is not guaranteed.
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

/** `begin` with all required settings, in one round trip. */
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
 * True if a commit certainly failed: it was never sent, or the server refused it. After a lost connection or a shutdown
 * the outcome is unknown.
 */
const isDecided = (e: Error) =>
  neverSent(e) || (/^[0-9A-Z]{5}$/.test(codeOf(e)) && !/^(08|53|57|58|XX)/.test(codeOf(e)))

/**
 * True if the transaction certainly did not commit, because of a conflict, a stall of this process, or a lost
 * connection.
 */
export const mayRunAgain = (e: unknown): boolean =>
  e instanceof RunAgain ||
  neverSent(e) ||
  /^(40001|40P01|25P03|57P0[123]|08...|ECONNRESET|EPIPE)$/.test(codeOf(e)) ||
  (e instanceof Error && /^Connection terminated/.test(e.message))

/**
 * True if no connection is available now but may be soon: all in use, server full, starting, stopping or restarting.
 */
export const refusesForNow = (e: unknown): boolean =>
  /^(53300|57P03|57P01|ECONNREFUSED|ECONNRESET|ENOENT)$/.test(codeOf(e)) ||
  (e instanceof Error && /^timeout exceeded/.test(e.message))
export const hasTooManyConnections = (e: unknown): boolean => codeOf(e) === '53300'
