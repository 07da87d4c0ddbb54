import type { Database, Tx } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Feed } from '../../replication/feed.ts'
import type { Memory } from '../../replication/tenant-cache.ts'
import type { Audit } from '../audit/index.ts'
import type { RaiseNotification } from '../notifications/index.ts'
import type { LicenseFiles } from './license/license-file.ts'
import type { Enforcement } from './settings/settings.ts'

export type Administrator = { username: string; email?: string; display_name?: string; password?: string }
/**
 * Prepares the first administrator; the identity module provides it. The password is hashed before the transaction that
 * makes the tenant, and written in it.
 */
export type PrepareAdministrator = (
  tenantName: string,
  given: Administrator,
) => Promise<{
  /** The generated temporary password, if there is one, and the time when it expires. */
  temporary: { password: string; expiresAt: Date } | null
  write: (tx: Tx, by: Actor) => Promise<{ userId: string; username: string }>
}>

/** Dependencies of this module. It is below the other modules, so their facts are passed as functions. */
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
  notify: RaiseNotification
  prepareAdministrator: PrepareAdministrator
  /** Makes a tenant's keys and certificates. */
  provision: (tenant: TenantId) => Promise<unknown>
  /** Called before anything is deleted permanently by the clock. */
  checkClock: () => Promise<void>
  /** Deletes a tenant's contents outside of the database. Called before its rows are erased. */
  removeContents: (tenant: TenantId) => Promise<void>
}
