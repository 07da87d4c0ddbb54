import type { Kek, PasswordParams as PasswordCost, Peppers } from '@holdfast/crypto'
import type { Database, Tx } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { PageAsset } from '../../http/pages/page-assets.ts'
import type { Caller, Source, TenantId } from '../../kernel/actor.ts'
import type { Origins } from '../../kernel/origins.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Memory } from '../../replication/tenant-cache.ts'
import type { KeysOfUser } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import type { Offboarding } from '../offboarding/index.ts'
import type { Tenancy } from '../tenancy/index.ts'

export { defaultPasswordParams as usualPasswordCost, type PasswordParams as PasswordCost } from '@holdfast/crypto'

/** Notifies the administrators of a tenant, in the transaction of the reported change. */
export type NotifyAdministrators = (
  tx: Tx,
  tenant: TenantId,
  notification: {
    kind: 'account.locked' | 'break_glass.used'
    severity: 'warning' | 'critical'
    title: string
    detail: string
    subject: { type: 'user'; id: string | null; name: string }
    /** Identifies the cause. While a notification with this key is open, no second one is created. */
    dedupe_key?: string
  },
) => Promise<unknown>

/**
 * Files that the page of the web console loads, by name: its script, and those of each view by the view's path. `reads`
 * are paths of the API.
 */
export type ConsolePage = {
  script: string
  /** `$name` in a path stands for one segment. */
  views: ReadonlyMap<
    string,
    {
      preloads: readonly string[]
      styles: readonly string[]
      reads: readonly string[]
      /** Permission that the reads need besides their own. */
      permission: string | undefined
    }
  >
}

/** The site of the documentation: HTML of the pages, and files that they load, by path below its address. */
export type DocsSite = {
  pages: ReadonlyMap<string, string>
  assets: ReadonlyMap<string, PageAsset>
}

/** Dependencies of this module. Each part takes those that it needs; none is optional. */
export type IdentityDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  pager: Pager
  now: () => Date
  peppers: Peppers
  kek: Kek
  publicUrl: string
  /** Undefined if the web console was not built. */
  consoleBuild: ConsolePage | undefined
  /** Undefined if the documentation was not built. */
  docsBuild: DocsSite | undefined
  origins: Origins
  /** Cost parameters of password hashes. */
  passwordCost: PasswordCost
  tenancy: Pick<Tenancy, 'settings' | 'nameOf' | 'tenantByName' | 'enforcesSso' | 'holdEnforcement' | 'entitlements'>
  /** Returns the ids of rules of the published policy that name this group. */
  rulesUsingGroup: (tx: Tx, tenant: TenantId, groupId: string) => Promise<readonly string[]>
  offboarding: Offboarding
  /** Releases the lock of a user, in the transaction that lets them in again. False if there is none. */
  releaseLockOf: (tx: Tx, source: Source, user: string) => Promise<boolean>
  /** API keys by which a user keeps access without signing in. */
  keysOfUser: KeysOfUser
  notify: NotifyAdministrators
  /**
   * Returns the identity providers on a tenant's sign-in page, and whether they are the only way to sign in. Throws
   * `rate_limited`.
   */
  waysIn: (
    tenantName: string,
    caller: Caller,
  ) => Promise<{ offered: readonly { path: string; name: string }[]; isOnlyWay: boolean }>
  /**
   * Returns the address where a browser also ends its session with the identity provider; undefined if there is none.
   */
  endSessionAt: (tenant: TenantId, providerId: string) => Promise<string | undefined>
  /** Reports "last seen" times that could not be written yet. */
  onError: (e: Error) => void
}
