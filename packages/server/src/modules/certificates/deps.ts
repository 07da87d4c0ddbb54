import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Memory } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from '../devices/index.ts'
import type { Policy } from '../policy/index.ts'
import type { Trust } from '../trust/index.ts'

/** What the rooms of this module share; each takes the part it needs. */
export type CertificatesDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  pager: Pager
  now: () => Date
  onError: (e: unknown) => void
  fleet: Pick<Fleet, 'device' | 'devicesOfUser'>
  policyOf: Policy['policyOf']
  trust: Pick<Trust, 'anchors' | 'keyring' | 'versionOf'>
  /** Names the deployment in SPIFFE ids. */
  publicUrl: string
  /** Where what certificates point to is served; undefined: nowhere, and they point to nothing. */
  pkiUrl: string | undefined
  /** Under which the extensions of certificates are named. */
  oidArc: string
  /** The tenant of an id that anybody may name; told from memory. */
  tenantNamed: (id: string) => TenantId | undefined
  tenants: () => Promise<readonly TenantId[]>
}
