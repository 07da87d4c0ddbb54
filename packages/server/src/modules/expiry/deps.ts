import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { ExpiringObject } from '../../kernel/expiring-object.ts'
import type { Access } from '../access/index.ts'
import type { NotificationRules } from '../notifications/index.ts'

type Source = (tenant: TenantId) => Promise<readonly ExpiringObject[]>

/** Dependencies of this module. Each file picks the ones that it needs. */
export type ExpiryDeps = {
  db: Database
  pager: Pager
  now: () => Date
  onError: (e: unknown) => void
  tenants: () => Promise<readonly TenantId[]>
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers'>
  /** API keys. There may be many, so they are read page by page. */
  keys: Pick<Access, 'endingKeys' | 'countEndingKeys'>
  /** Sources of everything else that ends. Each returns all of its items at once. */
  sources: readonly Source[]
  spcsByDay: (tenant: TenantId) => Promise<{ day: string; count: number }[]>
  /** Expiries of the deployment itself. They appear only in the tenant that administers the deployment. */
  deployment: { isHome: (tenant: TenantId) => Promise<boolean>; license: Source; tlsCertificate: Buffer | undefined }
}
