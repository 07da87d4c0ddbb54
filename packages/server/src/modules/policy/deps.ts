import type { GatewayKnowledge } from '@holdfast/policy'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Idle } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from '../devices/index.ts'
import type { Notify } from '../notifications/index.ts'
import type { Trust } from '../trust/index.ts'
import type { Availability } from './questions.ts'

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
  /** When a tenant that nobody asks for leaves memory. */
  idle: Idle
  /** What the gateways of this deployment look up by themselves. */
  gatewaysKnow: GatewayKnowledge
  now: () => Date
  onError: (e: unknown) => void
}
