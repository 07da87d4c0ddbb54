import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Peppers } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Origins } from '../../kernel/origins.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Memory } from '../../replication/tenant-cache.ts'
import type { Audit } from '../audit/index.ts'
import type { Federation } from '../federation/index.ts'
import type { SourceFailures } from '../identity/index.ts'
import type { Entitlements, Tenancy } from '../tenancy/index.ts'
import type { Trust } from '../trust/index.ts'

/** Dependencies of this module's layers. Each takes the part that it needs; none is optional. */
export type EnrollmentDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  pager: Pager
  trust: Trust
  federation: Federation
  entitlements: Entitlements
  failures: SourceFailures
  installLines: Tenancy['installLines']
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  peppers: Peppers
  publicUrl: string
  origins: Origins
  /** Called with the tenant in which a device starts to wait for approval. */
  deviceWaits: (tenant: TenantId) => void
  onError: (e: Error) => void
  now: () => Date
}
