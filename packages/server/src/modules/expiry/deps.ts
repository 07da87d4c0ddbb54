import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Expiry } from '../../kernel/expiry.ts'
import type { Access } from '../access/index.ts'
import type { NotificationRules } from '../notifications/index.ts'

type Source = (tenant: TenantId) => Promise<readonly Expiry[]>

/** What the rooms of this module share; each takes the part it needs. */
export type ExpiryDeps = {
  db: Database
  pager: Pager
  now: () => Date
  onError: (e: unknown) => void
  tenants: () => Promise<readonly TenantId[]>
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers'>
  /** Of which there may be many, read page by page. */
  keys: Pick<Access, 'endingKeys' | 'countEndingKeys'>
  /** Whatever else ends: each is asked for all of it. */
  sources: readonly Source[]
  spcsByDay: (tenant: TenantId) => Promise<{ day: string; count: number }[]>
  /** What ends of the deployment itself is shown in the tenant where that is administered. */
  deployment: { isHome: (tenant: TenantId) => Promise<boolean>; license: Source; tlsCertificate: Buffer | undefined }
}
