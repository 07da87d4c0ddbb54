import { background, type Database } from '../../db/database.ts'
import * as queries from './health.queries.ts'

/**
 * The absence of reports is evidence only while the deployment could receive them. Every sweep that judges by absence
 * calls this, and by that records that the deployment listens. After an outage of the replicas, of their jobs or of the
 * database the period starts anew.
 */
export const createListening = ({ db }: { db: Database }) => ({
  /**
   * Returns since when the deployment listens, by the database's clock. A caller that judges as of some time must read
   * that time first: a stall in between then falls after it.
   */
  since: (): Promise<Date> => db.acrossTenants(queries.listen, background),
})
export type Listening = ReturnType<typeof createListening>
