import type { GatewayKnowledge } from '@holdfast/policy'
import type { Database, Tx } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { RecordedSession, ReportedDevice } from '../../db/tables/gateways.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Idle } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from '../devices/index.ts'
import type { Notify } from '../notifications/index.ts'
import type { Trust } from '../trust/index.ts'
import type { Availability } from './questions.ts'

/** Reads what gateways and devices reported of VPN sessions. The gateways module gives it. */
type SessionHistory = {
  /** Devices that were connected or failed to connect since a moment. */
  heardSince: (tx: Tx, tenant: TenantId, since: Date) => Promise<readonly ReportedDevice[]>
  /** Sessions that began in the last days and used named resources, the newest first. */
  recordedSessions: (
    tx: Tx,
    tenant: TenantId,
    limits: { days: number; limit: number },
  ) => Promise<readonly RecordedSession[]>
}

/** What the rooms of this module share; each takes the part it needs. */
export type PolicyDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Feed
  pager: Pager
  fleet: Fleet
  trust: Trust
  notify: Notify
  /** Whether gateways can be reached. Given by the gateways module. */
  gateways: () => Availability
  sessionHistory: SessionHistory
  /** When a tenant that nobody asks for leaves memory. */
  idle: Idle
  /** What the gateways of this deployment look up by themselves. */
  gatewaysKnow: GatewayKnowledge
  now: () => Date
  onError: (e: unknown) => void
}
