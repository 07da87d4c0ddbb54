import { defaultSecuritySettings, type SecuritySettings } from '@holdfast/contract/settings'
import type { StartStepName } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../../db/database.ts'
import type { Actor, Source, TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import { type Change, type Changes, everything } from '../../../replication/changes.ts'
import { type Memory, tenantCache } from '../../../replication/tenant-cache.ts'
import type { Audit } from '../../audit/index.ts'
import { mergeSections, onlyChanged, sectionDifferences } from './merge.ts'
import { refuseOwnLimits } from './own-limits.ts'
import {
  holdSettings,
  lockSettings,
  readDismissed,
  readSettings,
  type Sections,
  setDismissed,
  writeSettings,
} from './settings.queries.ts'

type SettingsDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  now: () => Date
  enforcement: Enforcement
}

/**
 * Preconditions of `login.enforce_sso`, which makes identity providers the only way to sign in. Other modules provide
 * them.
 */
export type Enforcement = {
  /** Takes its locks first in the transaction, so that the preconditions stay true until commit. */
  hold: (tx: Tx, tenant: TenantId) => Promise<void>
  /** Throws 422 if the setting would lock everybody out. */
  require: (tx: Tx, tenant: TenantId) => Promise<void>
  /** Ends the sessions that were opened with only a password. */
  begin: (tx: Tx, source: Source) => Promise<Change[]>
}

/** The database stores the values that an administrator set. All others are defaults in the code. */
export function createSettings({ db, audit, changes, feed, now, enforcement }: SettingsDeps) {
  const known = tenantCache<SecuritySettings>(
    { changes, feed },
    {
      kinds: ['settings'],
      load: async (tenant) =>
        mergeSections(defaultSecuritySettings, await db.inTenant(tenant, (tx) => readSettings(tx, tenant))),
    },
  )

  return {
    read: known.get,

    /** True if identity providers are the only way to sign in, as this transaction sees it. */
    enforcesSso: async (tx: Tx, tenant: TenantId): Promise<boolean> => isEnforced(await readSettings(tx, tenant)),
    /** Returns the same, and keeps it unchanged until commit. */
    holdEnforcement: async (tx: Tx, tenant: TenantId): Promise<boolean> => isEnforced(await holdSettings(tx, tenant)),

    /** Replaces all of them. Unchanged values are not recorded. */
    replace: (actor: Actor, after: SecuritySettings, expected: ExpectedVersion): Promise<SecuritySettings> =>
      db.inTenant(actor.tenantId, async (tx) => {
        if (after.login.enforce_sso) await enforcement.hold(tx, actor.tenantId)
        const stored = await lockSettings(tx, actor.tenantId)
        const before = mergeSections(defaultSecuritySettings, stored)
        expected.require(before)
        const changed = sectionDifferences(before, after)
        if (Object.keys(changed).length === 0) return before
        const at = now()
        check(actor, before, after)
        refuseOwnLimits(actor, before, after, at)
        const isNew = after.login.enforce_sso && !before.login.enforce_sso
        if (isNew) await enforcement.require(tx, actor.tenantId)
        await writeSettings(tx, actor.tenantId, mergeSections(stored, onlyChanged(before, after)), at)
        await audit.record(tx, actor, 'security_settings.updated', {}, { changes: changed })
        const ended = isNew ? await enforcement.begin(tx, actor) : []
        await changes.record(tx, actor.tenantId, [{ kind: 'settings', subject: everything }, ...ended])
        return after
      }),
  }
}
export type TenantSettings = ReturnType<typeof createSettings>

const isEnforced = (stored: Sections): boolean => mergeSections(defaultSecuritySettings, stored).login.enforce_sso

/** Checks rules that involve several fields or the caller. */
function check({ principal }: Actor, before: SecuritySettings, after: SecuritySettings): void {
  const { idle_seconds, absolute_seconds } = after.sessions
  if (idle_seconds > absolute_seconds)
    failField('sessions.idle_seconds', `must not be greater than absolute_seconds, which is ${absolute_seconds}`)
  const turnsOn = after.mfa.step_up && !before.mfa.step_up
  const hasFactor =
    principal.kind === 'session' ? principal.mfa : principal.kind !== 'api_key' || !principal.standsForPerson
  if (turnsOn && !hasFactor)
    failField(
      'mfa.step_up',
      'applies to you too: enroll an authenticator app first, then repeat the request in a session',
    )
}

/** Steps of the first setup that the administrators of a tenant removed from its list. */
export const createDismissedSteps = ({ db, audit, now }: { db: Database; audit: Audit; now: () => Date }) => ({
  read: async (tx: Tx, tenant: TenantId): Promise<ReadonlySet<string>> => new Set(await readDismissed(tx, tenant)),

  /** Returns true if anything changed. A repetition is not recorded. */
  set: (actor: Actor, step: StartStepName, dismissed: boolean): Promise<boolean> =>
    db.inTenant(actor.tenantId, async (tx) => {
      if (!(await setDismissed(tx, actor.tenantId, { step, dismissed }, now()))) return false
      await audit.record(tx, actor, 'start_step.dismissed', { step, dismissed })
      return true
    }),
})
