import type { Peppers } from '@holdfast/crypto'
import type { Database, Tx } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Signals } from '../../memory/signals.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from '../devices/index.ts'
import type { Listening } from '../health/index.ts'
import type { NotificationRules } from '../notifications/index.ts'
import type { Policy } from '../policy/index.ts'
import type { Entitlements, Tenancy } from '../tenancy/index.ts'
import type { Trust } from '../trust/index.ts'
import type { SnapshotSize } from './pull/chunk.ts'

/** What the rooms of this module share; each takes the part it needs. */
export type GatewaysDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Pick<Feed, 'isFresh' | 'seqOf' | 'newestOf' | 'catchUp' | 'onBeat'>
  signals: Signals
  pager: Pager
  now: () => Date
  /** Keys the digests of stored secrets. */
  peppers: Peppers
  /** The deployment-wide gateway service secrets; each of them is good. */
  serviceSecrets: readonly string[]
  entitlements: Entitlements
  /** Adds what a report carried to the usage of the tenant. */
  meter: Tenancy['meter']
  fleet: Fleet
  policy: Pick<Policy, 'at' | 'atVersions' | 'versionsAt' | 'bundleFor' | 'rulesUsingPool'>
  /** How large a pool's snapshot is before it is cut into chunks, and how large those are. */
  snapshotSize: SnapshotSize
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers' | 'tenantsWithOpen'>
  /** Of these devices those that have had a certificate, and when the newest in use ends; null: none is. */
  certificateEnds: (tx: Tx, tenant: TenantId, deviceIds: readonly string[]) => Promise<ReadonlyMap<string, Date | null>>
  trust: Pick<Trust, 'signerFor' | 'versionOf'>
  listening: Listening
}
