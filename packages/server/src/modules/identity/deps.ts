import type { Kek, PasswordParams as PasswordCost, Peppers } from '@holdfast/crypto'
import type { Database, Tx } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Caller, Source, TenantId } from '../../kernel/actor.ts'
import type { Origins } from '../../kernel/origins.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Memory } from '../../memory/held.ts'
import type { KeysOfUser } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import type { Offboarding } from '../offboarding/index.ts'
import type { Tenancy } from '../tenancy/index.ts'

export { defaultPasswordParams as usualPasswordCost, type PasswordParams as PasswordCost } from '@holdfast/crypto'

/** Tells the administrators of a tenant, in the transaction of what it tells of. */
export type Notify = (
  tx: Tx,
  tenant: TenantId,
  notification: {
    kind: 'account.locked' | 'break_glass.used'
    severity: 'warning' | 'critical'
    title: string
    detail: string
    subject: { type: 'user'; id: string | null; name: string }
    /** While a notification of this cause is open, no second one is made. */
    dedupe_key?: string
  },
) => Promise<unknown>

/** The files that the page of the web console loads, by name, and the paths of the views; `$name` stands for one segment. */
export type ConsolePage = {
  paths: readonly string[]
  script: string
  preloads: readonly string[]
  styles: readonly string[]
}

/** What the rooms of this module share; each takes the part it needs. Nothing here may be left out. */
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
  /** Undefined where the web console was not built. */
  consoleBuild: ConsolePage | undefined
  origins: Origins
  /** What a hash of a password costs. */
  passwordCost: PasswordCost
  tenancy: Pick<Tenancy, 'settings' | 'nameOf' | 'tenantByName' | 'enforcesSso' | 'holdEnforcement' | 'entitlements'>
  /** Ids of the rules of the published policy that name this group. */
  rulesUsingGroup: (tx: Tx, tenant: TenantId, groupId: string) => Promise<readonly string[]>
  offboarding: Offboarding
  /** Releases the lock of a user, in the transaction that lets them in again; false where there is none. */
  releaseLockOf: (tx: Tx, source: Source, user: string) => Promise<boolean>
  /** The API keys by which a user goes on without signing in. */
  keysOfUser: KeysOfUser
  notify: Notify
  /** Whom the sign-in page of a tenant offers, and whether nothing else opens it. Throws `rate_limited`. */
  waysIn: (
    tenantName: string,
    caller: Caller,
  ) => Promise<{ offered: readonly { path: string; name: string }[]; isOnlyWay: boolean }>
  /** Where a browser whose session has ended ends the one with its identity provider too; undefined if nowhere. */
  endSessionAt: (tenant: TenantId, providerId: string) => Promise<string | undefined>
  /** Hears of "last seen" times that could not be written yet. */
  onError: (e: Error) => void
}
