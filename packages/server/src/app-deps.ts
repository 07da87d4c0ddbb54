import type { Config } from './config/config.ts'
import type { ConsoleBuild } from './config/console-build.ts'
import type { Secrets } from './config/secrets.ts'
import type { Pace } from './http/pace.ts'
import type { Log } from './kernel/log.ts'
import type { SnapshotSize } from './modules/gateways/index.ts'
import type { PasswordCost } from './modules/identity/index.ts'
import type { Peppers } from './modules/secrets/index.ts'
import type { Outbound } from './outbound/outbound.ts'

/** What a deployment is made of, and what tests set otherwise. */
export type AppDeps = {
  config: Config
  secrets: Secrets
  /** Of the master keys, as the database knows them. */
  peppers: Peppers
  databaseUrl: string
  log: Log
  /** Undefined where it was not built: `/admin` then shows a plain page. */
  consoleBuild?: ConsoleBuild | undefined
  /** The database's time and the way to others, unless a test stands between. */
  now?: () => Date
  outbound?: Outbound
  /** Up to how many peers a gateway's snapshot is one piece, and about how many a chunk holds beyond. */
  snapshotSize?: SnapshotSize
  /** After how long a tenant that nobody asks for leaves memory. */
  idleMs?: number
  /** Less than in service in tests that sign in for other things. */
  passwordCost?: PasswordCost
  /** How slow who sends or takes packages may be. */
  pace?: Pace
  /** By how much longer than in service a transaction may take in tests that are not about it, on a busy machine. */
  slowness?: number
}
