import { background, type Database } from '../../db/database.ts'
import * as queries from './listening.queries.ts'

/**
 * Silence says something of those who are silent only while somebody listened. Every sweep that judges by silence asks
 * here, and says by that that the deployment listens: after an outage of the replicas, of their jobs or of the database
 * the first of them begins anew.
 */
export const createListening = ({ db }: { db: Database }) => ({
  /**
   * Since when it listens, by the database's clock. Whoever judges as of a moment takes that before: what stalls in
   * between is then after it.
   */
  since: (): Promise<Date> => db.acrossTenants(queries.listen, background),
})
export type Listening = ReturnType<typeof createListening>
