import type { Database, Tx } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Source, TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Memory } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import type { KeyProviders } from './keys/provider.ts'

/** How many there are, and how many of them have not fetched a trust set of this version or a later one. */
export type Coverage = { total: number; behind: number }

/** What the rooms of this module share; each takes the part it needs. */
export type TrustDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  pager: Pager
  providers: KeyProviders
  now: () => Date
  onError: (e: unknown) => void
  /** Of devices and gateways. Given by their modules. */
  coverageOf: (tx: Tx, tenant: TenantId, version: number) => Promise<{ devices: Coverage; gateways: Coverage }>
  /** A device has fetched the set of this version. */
  onFetched: (tenant: TenantId, deviceId: string, version: number) => void
  /** Certificates of an authority that still count. Given by the certificates module. */
  certificatesOf: (tx: Tx, tenant: TenantId, issuerId: string, at: Date) => Promise<number>
  /** Revokes what these authorities issued, in the transaction that ends them. */
  revokeIssuedBy: (tx: Tx, source: Source, issuerIds: readonly string[], at: Date) => Promise<void>
}
