import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import type { TenantId } from '../kernel/actor.ts'
import type { Tables } from './tables.ts'

// bigint (counts, sequence numbers, bytes) and numeric (percentages) as numbers.
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (oid === 20 || oid === 1700) && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format ?? 'text'),
}

declare const inTransaction: unique symbol
/** An open transaction whose tenant is set. Only `Database` makes one, so a query can't run outside the tenant wall. */
export type Tx = Kysely<Tables> & { readonly [inTransaction]: true }

export type Database = {
  /** Runs `work` in a transaction that sees and writes rows of this tenant only. */
  inTenant: <T>(tenant: TenantId, work: (tx: Tx) => Promise<T>) => Promise<T>
  /**
   * Runs `work` in a transaction that passes the tenant wall: sign-in and credential look-up, where the tenant is not
   * known yet, and sweeps over all tenants.
   */
  acrossTenants: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>
  /** Registers work to run right after the transaction's commit, and not at all if it rolls back. */
  afterCommit: (tx: Tx, work: () => void) => void
  isReachable: () => Promise<boolean>
  close: () => Promise<void>
}

/** Session settings of the application's connections: its role, and a bound on every statement. */
export const connectionOptions = '-c role=holdfast_app -c statement_timeout=8000 -c lock_timeout=4000 -c timezone=UTC'

export function connectDatabase(
  url: string,
  { max = 20, onError }: { max?: number; onError: (e: Error) => void },
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    types,
    options: connectionOptions,
    connectionTimeoutMillis: 2000,
    query_timeout: 10_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
  })
  // An idle connection that the server ends would otherwise end the process.
  pool.on('error', onError)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const committed = new WeakMap<object, (() => void)[]>()

  const transact = <T>(scope: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
    db.connection().execute(async (connection) => {
      const tx = connection as Tx
      const after: (() => void)[] = []
      committed.set(tx, after)
      await sql.raw(`begin; set local holdfast.tenant = '${scope}'`).execute(tx)
      try {
        const result = await work(tx)
        await sql.raw('commit').execute(tx)
        for (const f of after) f()
        return result
      } catch (e) {
        await sql.raw('rollback').execute(tx).catch(onError)
        throw e
      }
    })

  return {
    inTenant: (tenant, work) => transact(uuidOnly(tenant), work),
    acrossTenants: (work) => transact('*', work),
    afterCommit: (tx, work) => {
      const after = committed.get(tx)
      if (!after) throw new Error('afterCommit outside a transaction')
      after.push(work)
    },
    isReachable: async () => {
      try {
        await sql`select 1`.execute(db)
        return true
      } catch {
        return false
      }
    },
    close: () => db.destroy(),
  }
}

/** The scope is written into the statement, which saves a round trip; nothing but a UUID gets there. */
const uuidOnly = (tenant: TenantId) => {
  if (!/^[0-9a-f-]{36}$/.test(tenant)) throw new Error('not a tenant id')
  return tenant
}
