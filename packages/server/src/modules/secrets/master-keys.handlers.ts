import type { Database } from '../../db/database.ts'
import type { Handlers } from '../../http/handlers.ts'
import * as queries from './registry.queries.ts'
import { type GivenKeys, isKeyOver, isNeeded } from './registry.ts'

export const masterKeyHandlers = ({
  db,
  masterKeys,
  now,
}: {
  db: Database
  masterKeys: GivenKeys['masterKeys']
  now: () => Date
}) =>
  ({
    listMasterKeys: async () => {
      const [rows, replicas] = await db.acrossTenants(async (tx) => [
        await queries.selectMasterKeys(tx),
        await queries.runningReplicas(tx),
      ])
      const running = (does: keyof queries.Replica, version: number) =>
        replicas.filter((replica) => replica[does].includes(version)).length
      return {
        replicas: replicas.length,
        items: rows.map((row) => {
          const writing = running('writes', row.version)
          return {
            key_id: row.key_id,
            version: row.version,
            line: masterKeys.findIndex(({ id }) => id === row.key_id) + 1 || null,
            reading: running('reads', row.version),
            writing,
            sealed: row.sealed,
            digests: row.digests,
            counted_at: row.counted_at?.toISOString() ?? null,
            needed: isNeeded(row),
            unused_since: row.unused_since?.toISOString() ?? null,
            removable: writing === 0 && (row.written_at === null || isKeyOver(row, now())),
          }
        }),
      }
    },
  }) satisfies Partial<Handlers>
