import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Memory } from '../../replication/tenant-cache.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from '../devices/index.ts'
import type { Policy } from '../policy/index.ts'
import type { Trust } from '../trust/index.ts'

/** Dependencies of this module's layers. Each takes the part that it needs. */
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
  /** Names the deployment in SPIFFE IDs. */
  publicUrl: string
  /** Base URL of the addresses in certificates (CRL, OCSP, issuer). Undefined: certificates contain no addresses. */
  pkiUrl: string | undefined
  /** OID arc of the certificate extensions. */
  oidArc: string
  /** The tenant of an ID from an anonymous request; answered from memory. */
  tenantNamed: (id: string) => TenantId | undefined
  tenants: () => Promise<readonly TenantId[]>
}
