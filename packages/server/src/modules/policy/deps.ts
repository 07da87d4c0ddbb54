import type { GatewayKnowledge } from '@holdfast/policy'
import type { Database, Tx } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { RecordedSession, ReportedDevice } from '../../db/tables/gateways.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Feed } from '../../replication/feed.ts'
import type { Idle } from '../../replication/tenant-cache.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from '../devices/index.ts'
import type { RaiseNotification } from '../notifications/index.ts'
import type { Trust } from '../trust/index.ts'
import type { Availability } from './questions.ts'

/** Reads the reports of gateways and devices about VPN sessions. The gateways module provides it. */
type SessionHistory = {
  /** Devices that connected or failed to connect since a time. */
  reportedSince: (tx: Tx, tenant: TenantId, since: Date) => Promise<readonly ReportedDevice[]>
  /** Sessions that began in the last days and used named resources, the newest first. */
  recordedSessions: (
    tx: Tx,
    tenant: TenantId,
    limits: { days: number; limit: number },
  ) => Promise<readonly RecordedSession[]>
}

/** Dependencies of this module. Each file picks the ones that it needs. */
export type PolicyDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Feed
  pager: Pager
  fleet: Fleet
  trust: Trust
  notify: RaiseNotification
  /** Availability of gateways. The gateways module provides it. */
  gateways: () => Availability
  sessionHistory: SessionHistory
  /** Decides when an idle tenant leaves the cache. */
  idle: Idle
  /** Facts that the gateways of this deployment can look up themselves. */
  gatewaysKnow: GatewayKnowledge
  now: () => Date
  onError: (e: unknown) => void
}
