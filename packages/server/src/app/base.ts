import { usualSort } from '@holdfast/contract'
import type { Config } from '../config/config.ts'
import type { ConsoleBuild } from '../config/console-build.ts'
import type { DocsBuild } from '../config/docs-build.ts'
import type { Secrets } from '../config/secrets.ts'
import { connectDatabase } from '../db/database.ts'
import { createPager } from '../db/page.ts'
import { defaultMinimumRate, type MinimumRate } from '../http/connection/minimum-rate.ts'
import type { Log } from '../kernel/log.ts'
import type { SnapshotSize } from '../modules/gateways/index.ts'
import { createListening } from '../modules/health/index.ts'
import { type PasswordCost, usualPasswordCost } from '../modules/identity/index.ts'
import { keyPresenceOf, type Peppers } from '../modules/secrets/index.ts'
import { createOutbound, type Outbound } from '../outbound/outbound.ts'
import { createChanges } from '../replication/changes.ts'
import { createClock } from '../replication/clock.ts'
import { createFeed } from '../replication/feed.ts'
import { createSignals } from '../replication/signals.ts'
import { idleAfterMs } from '../replication/tenant-cache.ts'

/** Dependencies of a deployment, with overrides for tests. */
export type AppDeps = {
  config: Config
  secrets: Secrets
  /** The peppers of the master keys, with the versions that the database assigns. */
  peppers: Peppers
  databaseUrl: string
  log: Log
  /** Undefined if it was not built. `/admin` then shows a plain page. */
  consoleBuild?: ConsoleBuild | undefined
  /** Undefined if it was not built. `/admin/docs` then has no pages. */
  docsBuild?: DocsBuild | undefined
  /** Overrides for tests. Default: the database's time, and requests to other servers as configured. */
  now?: () => Date
  outbound?: Outbound
  /**
   * Number of peers up to which a gateway's snapshot is one piece, and the approximate size of a chunk of larger ones.
   */
  snapshotSize?: SnapshotSize
  /** Time in ms after which an unused tenant leaves memory. */
  idleMs?: number
  /** Cost of a password hash. Tests that don't test it lower it. */
  passwordCost?: PasswordCost
  /** Minimum transfer rate of package uploads and downloads. */
  pace?: MinimumRate
  /** Factor on the timeouts of transactions, for tests on a busy machine. */
  slowness?: number
}

/** The same with the defaults of production. */
export const applyDefaults = ({ outbound, ...deps }: AppDeps) => ({
  snapshotSize: { inlineUpTo: 5000, perChunk: 1000 },
  idleMs: idleAfterMs,
  passwordCost: usualPasswordCost,
  pace: defaultMinimumRate,
  slowness: 1,
  consoleBuild: undefined,
  docsBuild: undefined,
  ...deps,
  outbound: outbound ?? createOutbound(deps.config),
})
export type CompleteDeps = ReturnType<typeof applyDefaults> & Pick<AppDeps, 'consoleBuild' | 'docsBuild' | 'now'>

/** The base of every module: the database, and the parts that keep the caches of all replicas coherent. */
export function createBase({ config, secrets, peppers, databaseUrl, log, now: ownClock, slowness }: CompleteDeps) {
  const onError = (e: unknown) => log.error({ err: e }, 'background task failed')
  const db = connectDatabase(databaseUrl, { max: config.databaseConnections, onError, slowness })
  const clock = createClock()
  const now = ownClock ?? clock.now
  const changes = createChanges(db, now)
  const feed = createFeed({ url: databaseUrl, changes, clock, log, presence: keyPresenceOf(peppers) })
  const signals = createSignals({ db, feed })
  const pager = createPager(
    secrets.masterKeys.map((key) => key.cursorKey),
    usualSort,
  )
  const listening = createListening({ db })
  const { publicUrl } = config
  const held = { db, changes, feed, signals, pager, now, listening }
  return { ...held, peppers, kek: secrets.kek, publicUrl, origins: config, onError }
}
export type Base = ReturnType<typeof createBase>
