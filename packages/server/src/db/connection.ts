import pg from 'pg'
import { second } from '../kernel/time.ts'

/** Seconds after which the server notices that a client is gone, whatever it was doing. */
const keepalive =
  '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000'

/**
 * Session settings of the application's connections. A pooler may drop them, so nothing that must hold stands only
 * here: role, tenant and timeouts are set again in every transaction.
 */
export const connectionOptions = `-c role=holdfast_app -c statement_timeout=2000 -c lock_timeout=1500 -c timezone=UTC ${keepalive}`

/** A connection whose loss never ends the process, and that can be cut without asking the other side. */
export class Connection extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ keepAlive: true, keepAliveInitialDelayMillis: 5 * second, ...config })
    // Whoever waits for an answer hears of it; without a listener Node would end the process.
    this.on('error', () => {})
  }
  cut(): void {
    this.connection.stream.destroy()
  }
  /** A short question; one that is not answered in time is an error, and cuts the connection. */
  async ask<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
    const forget = this.cutAfter(answerWithinMs)
    try {
      return (await this.query<R>(text, values)).rows
    } finally {
      forget()
    }
  }
  /**
   * Cuts it after so long, unless what is returned is called first. An answer that has arrived by then is read first: a
   * process that was busy with something else has not been left without one.
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

/** How long a connection outside the pool waits for a short answer. */
const answerWithinMs = 5 * second

/** Lends a connection of its own, outside the pool and as the role of the URL: for migrations and locks. */
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
