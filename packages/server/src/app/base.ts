import { connectDatabase } from '../db/database.ts'
import { createPager } from '../db/page.ts'
import { createListening } from '../modules/health/index.ts'
import { keyPresenceOf } from '../modules/secrets/index.ts'
import { createChanges } from '../replication/changes.ts'
import { createClock } from '../replication/clock.ts'
import { createFeed } from '../replication/feed.ts'
import { createSignals } from '../replication/signals.ts'
import type { AppDeps } from './deps.ts'

/** The base of every module: the database, and the parts that keep the caches of all replicas coherent. */
export function createBase({
  config,
  secrets,
  peppers,
  databaseUrl,
  log,
  given,
  slowness,
  onError,
}: Pick<AppDeps, 'config' | 'secrets' | 'peppers' | 'databaseUrl' | 'log'> & {
  given: AppDeps['now']
  slowness: number
  onError: (e: unknown) => void
}) {
  const db = connectDatabase(databaseUrl, { max: config.databaseConnections, onError, slowness })
  const clock = createClock()
  const now = given ?? clock.now
  const changes = createChanges(db, now)
  const feed = createFeed({ url: databaseUrl, changes, clock, log, presence: keyPresenceOf(peppers) })
  const signals = createSignals({ db, feed })
  const pager = createPager(secrets.masterKeys.map((key) => key.cursorKey))
  const listening = createListening({ db })
  const { publicUrl } = config
  const held = { db, changes, feed, signals, pager, now, listening }
  return { ...held, peppers, kek: secrets.kek, publicUrl, origins: config, onError }
}
