import type { Database } from '../../db/database.ts'
import type { Handlers } from '../../http/handlers.ts'
import { minute } from '../../kernel/time.ts'
import * as queries from './registry.queries.ts'
import { type GivenKeys, isNeeded } from './registry.ts'

/** What is stored nowhere and still on its way lives no longer: a challenge, a sign-in. */
const onItsWayMs = 15 * minute

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
        await queries.readMasterKeys(tx),
        await queries.runningReplicas(tx),
      ])
      const running = (does: keyof queries.Replica, version: number) =>
        replicas.filter((replica) => replica[does].includes(version)).length
      return {
        replicas: replicas.length,
        items: rows.map((row) => {
          const unusedFor = row.unused_since ? now().getTime() - row.unused_since.getTime() : 0
          return {
            key_id: row.key_id,
            version: row.version,
            line: masterKeys.findIndex(({ id }) => id === row.key_id) + 1 || null,
            reading: running('reads', row.version),
            writing: running('writes', row.version),
            sealed: row.sealed,
            digests: row.digests,
            counted_at: row.counted_at?.toISOString() ?? null,
            needed: isNeeded(row),
            unused_since: row.unused_since?.toISOString() ?? null,
            removable: row.written_at === null ? running('writes', row.version) === 0 : unusedFor >= onItsWayMs,
          }
        }),
      }
    },
  }) satisfies Partial<Handlers>
