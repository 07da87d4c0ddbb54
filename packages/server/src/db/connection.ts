import pg from 'pg'
import { second } from '../kernel/time.ts'

/** TCP settings in seconds, by which the server notices a lost client in any state. */
const keepalive =
  '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000'

/**
 * Session settings of the application's connections. A pooler may drop them, so none that must hold is only here: role,
 * tenant and timeouts are set again in every transaction.
 */
export const connectionOptions = `-c role=holdfast_app -c statement_timeout=2000 -c lock_timeout=1500 -c timezone=UTC ${keepalive}`

/** A connection whose loss never ends the process, and that can be closed without a reply of the server. */
export class Connection extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ keepAlive: true, keepAliveInitialDelayMillis: 5 * second, ...config })
    // Pending queries get the error. Without a listener Node would end the process.
    this.on('error', () => {})
  }
  cut(): void {
    this.connection.stream.destroy()
  }
  /** Runs a short query. If the answer does not come in time, it throws and cuts the connection. */
  async ask<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
    const forget = this.cutAfter(answerWithinMs)
    try {
      return (await this.query<R>(text, values)).rows
    } finally {
      forget()
    }
  }
  /**
   * Cuts the connection after `ms`, unless the returned function is called before. An answer that has already arrived
   * is read first, so that a busy process does not cut a connection that answered in time.
   */
  cutAfter(ms: number): () => void {
    let turn: NodeJS.Immediate | undefined
    const timer = setTimeout(() => {
      turn = setImmediate(() => this.cut())
    }, ms)
    return () => {
      clearTimeout(timer)
      clearImmediate(turn)
    }
  }
}

/** Timeout for a short answer on a connection outside the pool. */
const answerWithinMs = 5 * second

/** Opens a connection outside the pool, with the role of the URL: for migrations and locks. */
export async function withConnection<T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = new Connection({
    connectionString: url,
    connectionTimeoutMillis: answerWithinMs,
    options: keepalive,
  })
  await connection.connect()
  try {
    return await work(connection)
  } finally {
    const forget = connection.cutAfter(second)
    await connection.end()
    forget()
  }
}
