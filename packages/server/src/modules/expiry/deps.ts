import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { ExpiringObject, ExpirySource } from '../../kernel/expiring-object.ts'
import type { Access } from '../access/index.ts'
import type { NotificationRules } from '../notifications/index.ts'

/** Dependencies of this module. Each file picks the ones that it needs. */
export type ExpiryDeps = {
  db: Database
  pager: Pager
  now: () => Date
  onError: (e: unknown) => void
  tenants: () => Promise<readonly TenantId[]>
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers'>
  /** API keys. Most of a large number have an end, so a page of the list reads only its own. */
  keys: Pick<Access, 'endingKeys' | 'countEndingKeys'>
  /** Sources of everything else that ends. Each page of the list reads all of their items. */
  sources: readonly ExpirySource[]
  spcsByDay: (tenant: TenantId) => Promise<{ day: string; count: number }[]>
  /** Expiries of the deployment itself. They appear only in the tenant that administers the deployment. */
  deployment: {
    isHome: (tenant: TenantId) => Promise<boolean>
    license: (tenant: TenantId) => Promise<readonly ExpiringObject[]>
    tlsCertificate: Buffer | undefined
  }
}
