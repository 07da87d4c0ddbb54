import type { Database, Tx } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Source, TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Memory } from '../../replication/tenant-cache.ts'
import type { Audit } from '../audit/index.ts'
import type { KeyProviders } from './keys/provider.ts'

/** Number of devices or gateways, and how many of them have not fetched a trust set of this version or later. */
export type Coverage = { total: number; behind: number }

/** Dependencies of this module. Each file picks the ones that it needs. */
export type TrustDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  pager: Pager
  providers: KeyProviders
  now: () => Date
  onError: (e: unknown) => void
  /** Coverage of devices and of gateways. Their modules provide it. */
  coverageOf: (tx: Tx, tenant: TenantId, version: number) => Promise<{ devices: Coverage; gateways: Coverage }>
  /** Called when a device has fetched the set of this version. */
  onFetched: (tenant: TenantId, deviceId: string, version: number) => void
  /** Counts the valid certificates of an authority. The certificates module provides it. */
  certificatesOf: (tx: Tx, tenant: TenantId, issuerId: string, at: Date) => Promise<number>
  /** Revokes all certificates of these authorities, in the transaction that ends them. */
  revokeIssuedBy: (tx: Tx, source: Source, issuerIds: readonly string[], at: Date) => Promise<void>
}
