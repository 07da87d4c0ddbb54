import type { Peppers } from '@holdfast/crypto'
import type { Database, Tx } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Feed } from '../../replication/feed.ts'
import type { Signals } from '../../replication/signals.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from '../devices/index.ts'
import type { Listening } from '../health/index.ts'
import type { NotificationRules } from '../notifications/index.ts'
import type { Policy } from '../policy/index.ts'
import type { Entitlements, Tenancy } from '../tenancy/index.ts'
import type { Trust } from '../trust/index.ts'
import type { SnapshotSize } from './sync/chunk.ts'

/** Dependencies of this module. Each part takes those that it needs. */
export type GatewaysDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Pick<Feed, 'isFresh' | 'seqOf' | 'newestOf' | 'catchUp' | 'onBeat'>
  signals: Signals
  pager: Pager
  now: () => Date
  /** HMAC keys for the digests of stored secrets. */
  peppers: Peppers
  /** Deployment-wide gateway service secrets; any of them is valid. */
  serviceSecrets: readonly string[]
  entitlements: Entitlements
  /** Adds the traffic of a report to the tenant's usage. */
  meter: Tenancy['meter']
  fleet: Fleet
  policy: Pick<Policy, 'at' | 'atVersions' | 'versionsAt' | 'bundleFor' | 'rulesUsingPool'>
  /** Limit of peers in an unchunked snapshot, and size of the chunks beyond it. */
  snapshotSize: SnapshotSize
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers' | 'tenantsWithOpen'>
  /**
   * Returns for each of these devices that ever had a certificate the end of the newest one in use; null if none is in
   * use.
   */
  certificateEnds: (tx: Tx, tenant: TenantId, deviceIds: readonly string[]) => Promise<ReadonlyMap<string, Date | null>>
  trust: Pick<Trust, 'signerFor' | 'versionOf'>
  listening: Listening
}
