import { randomUUID } from 'node:crypto'
import { type Database, foreground, type Patience } from '../../db/database.ts'
import { second } from '../../kernel/time.ts'
import type { Feed } from '../../memory/feed.ts'
import { forgetSilent, markSeen } from './replicas.queries.ts'

export type ReadinessDeps = { db: Database; feed: Pick<Feed, 'isFresh' | 'catchUp'> }

const probeEveryMs = 500
/** How long one write proves that writes are possible. */
const provenForMs = 800
const briefly: Patience = { ...foreground, total: second, connect: second / 2, statement: second, lock: second }

/**
 * A replica is ready when a request that came now would be answered: its memory is proven, or is when it has been
 * compared with the database, and a write was committed lately. The write is tried when someone asks, once for all who
 * do.
 */
export function createReadiness({ db, feed }: ReadinessDeps) {
  const replica = randomUUID()
  let isOpen = false
  let provenAt = Number.NEGATIVE_INFINITY
  let triedAt = Number.NEGATIVE_INFINITY
  let trying: Promise<boolean> | undefined

  const isProven = () => performance.now() - provenAt <= provenForMs
  const tryWrite = (): Promise<boolean> => {
    triedAt = performance.now()
    return db
      .acrossTenants((tx) => markSeen(tx, replica), briefly)
      .then(
        () => {
          provenAt = performance.now()
          return true
        },
        () => false,
      )
      .finally(() => {
        trying = undefined
      })
  }

  return {
    open: (): void => {
      isOpen = true
    },
    close: (): void => {
      isOpen = false
    },
    isReady: async (): Promise<boolean> => {
      if (!isOpen) return false
      const proving = feed.isFresh() ? undefined : feed.catchUp().catch(() => {})
      if (!trying && performance.now() - triedAt >= probeEveryMs) trying = tryWrite()
      if (!isProven()) await trying
      await proving
      return isOpen && feed.isFresh() && isProven()
    },
    forgetOthers: () => db.acrossTenants(forgetSilent),
  }
}
export type Readiness = ReturnType<typeof createReadiness>
