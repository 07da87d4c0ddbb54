import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from '../devices/index.ts'
import type { Notify } from '../notifications/index.ts'
import type { Policy } from '../policy/index.ts'
import type { Trust } from '../trust/index.ts'

/** Where packages are kept, and how much they may be (bytes). */
export type StoreOptions = {
  dir: string
  bucket: { url: string; region: string } | undefined
  largest: number
  largestOfTenant: number
}
export type BucketCredential = { accessKeyId: string; secretAccessKey: string }

/** What the rooms of this module share; each takes the part it needs. */
export type UpdatesDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Feed
  pager: Pager
  fleet: Fleet
  policy: Pick<Policy, 'policyOf'>
  trust: Pick<Trust, 'signerFor'>
  notify: Notify
  tenants: () => Promise<readonly TenantId[]>
  packages: StoreOptions
  bucketCredential: BucketCredential | undefined
  now: () => Date
  /** Hears of what goes on without it. */
  onError: (e: unknown) => void
}
