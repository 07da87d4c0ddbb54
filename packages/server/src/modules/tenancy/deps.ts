import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Memory } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import type { Notify } from '../notifications/index.ts'
import type { LicenseFiles } from './license/license-file.ts'
import type { Enforcement } from './settings/settings.ts'
import type { PrepareAdministrator } from './tenants/lifecycle.ts'

/** What other modules know is given as functions: this one stands below them. */
export type TenancyDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed'] & Pick<Feed, 'knows'>
  pager: Pager
  now: () => Date
  log: { warn: (o: object, message: string) => void }
  onError: (e: Error) => void
  publicUrl: string
  licenseFiles: LicenseFiles | undefined
  enforcement: Enforcement
  notify: Notify
  prepareAdministrator: PrepareAdministrator
  /** Makes a tenant's keys and certificates. */
  provision: (tenant: TenantId) => Promise<unknown>
  /** Comes before whatever goes for good by the clock. */
  checkClock: () => Promise<void>
  /** What a deleted tenant has outside of the database goes first. */
  removeContents: (tenant: TenantId) => Promise<void>
}
