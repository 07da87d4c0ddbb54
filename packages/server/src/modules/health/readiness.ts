import { randomUUID } from 'node:crypto'
import { type Database, foreground, type Patience } from '../../db/database.ts'
import { second } from '../../kernel/time.ts'
import type { Feed } from '../../replication/feed.ts'
import { forgetSilent, markSeen } from './health.queries.ts'

export type ReadinessDeps = { db: Database; feed: Pick<Feed, 'isFresh' | 'catchUp'> }

const probeEveryMs = 500
/** Time for which one committed write proves that writes are possible. */
const provenForMs = 800
const briefly: Patience = { ...foreground, total: second, connect: second / 2, statement: second, lock: second }

/**
 * A replica is ready if it could answer a request now: its cache is coherent, or becomes so when it catches up with the
 * database, and a write was committed lately. The write is tried only when readiness is asked for, once for all
 * concurrent callers.
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
