import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Feed } from '../../replication/feed.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from '../devices/index.ts'
import type { RaiseNotification } from '../notifications/index.ts'
import type { Policy } from '../policy/index.ts'
import type { Trust } from '../trust/index.ts'

/** Location of packages, and their limits in bytes. */
export type StoreOptions = {
  dir: string
  bucket: { url: string; region: string } | undefined
  largest: number
  largestOfTenant: number
}
export type BucketCredential = { accessKeyId: string; secretAccessKey: string }

/** Dependencies of this module. Each file picks the ones that it needs. */
export type UpdatesDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Feed
  pager: Pager
  fleet: Fleet
  policy: Pick<Policy, 'policyOf'>
  trust: Pick<Trust, 'signerFor'>
  notify: RaiseNotification
  tenants: () => Promise<readonly TenantId[]>
  packages: StoreOptions
  bucketCredential: BucketCredential | undefined
  now: () => Date
  /** Receives errors that do not stop the work. */
  onError: (e: unknown) => void
}
