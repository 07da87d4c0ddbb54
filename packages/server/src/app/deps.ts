import type { Config } from '../config/config.ts'
import type { ConsoleBuild } from '../config/console-build.ts'
import type { Secrets } from '../config/secrets.ts'
import type { MinimumRate } from '../http/connection/minimum-rate.ts'
import type { Log } from '../kernel/log.ts'
import type { SnapshotSize } from '../modules/gateways/index.ts'
import type { PasswordCost } from '../modules/identity/index.ts'
import type { Peppers } from '../modules/secrets/index.ts'
import type { Outbound } from '../outbound/outbound.ts'

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
