import type { Kek, Peppers } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Memory } from '../../replication/tenant-cache.ts'
import type { Access } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import type { ByProvider } from '../identity/index.ts'
import type { Tenancy } from '../tenancy/index.ts'

/** Dependencies of this module. Each part takes those that it needs; none is optional. */
export type FederationDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  pager: Pager
  now: () => Date
  /** Reads the claims of a token that this deployment issued. */
  readToken: Access['readToken']
  peppers: Peppers
  kek: Kek
  publicUrl: string
  outbound: Pick<Outbound, 'request' | 'refusalOf'>
  tenancy: Pick<Tenancy, 'settings' | 'tenantByName' | 'nameOf' | 'exists' | 'listTenantIds' | 'enforcesSso'>
  people: ByProvider
  /** Reports errors of writes that failed. */
  onError: (e: Error) => void
}
