import type { GatewayKnowledge } from '@holdfast/policy'
import type { Database, Tx } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Idle } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from '../devices/index.ts'
import type { Notify } from '../notifications/index.ts'
import type { Trust } from '../trust/index.ts'

/** What gateways and devices have reported, which another module keeps. */
type Reported = {
  /** Devices that were connected or said that they could not connect, since a moment; and what befell them since. */
  heardSince: (
    tx: Tx,
    tenant: TenantId,
    since: Date,
  ) => Promise<readonly { device_id: string; denied: boolean; failed: boolean }[]>
  /** Sessions that began in the last days and used named resources, the newest first. */
  recordedSessions: (
    tx: Tx,
    tenant: TenantId,
    which: { days: number; limit: number },
  ) => Promise<readonly RecordedSession[]>
}
export type RecordedSession = {
  session_id: string
  device_id: string
  user_id: string | null
  started_at: Date
  last_seen_at: Date
  source_ip: string | null
  resources: string[]
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
  reported: Reported
  /** When a tenant that nobody asks for leaves memory. */
  idle: Idle
  /** What the gateways of this deployment look up by themselves. */
  gatewaysKnow: GatewayKnowledge
  now: () => Date
  onError: (e: unknown) => void
}
