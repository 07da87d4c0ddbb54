import { defaultSecuritySettings, type SecuritySettings } from '@holdfast/contract/settings'
import type { Database } from '../../db/database.ts'
import type { Actor } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import type { Expected } from '../../kernel/version.ts'
import { type Changes, everything } from '../../memory/changes.ts'
import { held, type Memory } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import { differences, mergeSections, onlyChanged } from './merge.ts'
import { refuseOwnLimits } from './own-limits.ts'
import { lockSettings, readSettings, writeSettings } from './tenants.queries.ts'

export type SettingsDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  now: () => Date
}

/** The database keeps what an administrator set; everything else is the default of the code. */
export function createSettings({ db, audit, changes, feed, now }: SettingsDeps) {
  const known = held<SecuritySettings>(
    { changes, feed },
    {
      kinds: ['settings'],
      load: async (tenant) =>
        mergeSections(defaultSecuritySettings, await db.inTenant(tenant, (tx) => readSettings(tx, tenant))),
    },
  )

  return {
    read: known.get,

    /** Replaces them all; the values that hold already change and record nothing. */
    replace: (actor: Actor, after: SecuritySettings, expected: Expected): Promise<SecuritySettings> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const stored = await lockSettings(tx, actor.tenantId)
        const before = mergeSections(defaultSecuritySettings, stored)
        expected.require(before)
        const changed = differences(before, after)
        if (Object.keys(changed).length === 0) return before
        const at = now()
        check(actor, before, after)
        refuseOwnLimits(actor, before, after, at)
        await writeSettings(tx, actor.tenantId, mergeSections(stored, onlyChanged(before, after)), at)
        await audit.record(tx, actor, 'security_settings.updated', {}, { changes: changed })
        await changes.record(tx, actor.tenantId, [{ kind: 'settings', subject: everything }])
        return after
      }),
  }
}
export type Settings = ReturnType<typeof createSettings>

/** What no field says alone. */
function check({ principal }: Actor, before: SecuritySettings, after: SecuritySettings): void {
  const { idle_seconds, absolute_seconds } = after.sessions
  if (idle_seconds > absolute_seconds)
    failField('sessions.idle_seconds', `must not be longer than absolute_seconds, which is ${absolute_seconds}`)
  const turnsOn = after.mfa.step_up && !before.mfa.step_up
  const hasFactor =
    principal.kind === 'session' ? principal.mfa : principal.kind !== 'api_key' || !principal.standsForPerson
  if (turnsOn && !hasFactor)
    failField('mfa.step_up', 'binds you too: enroll an authenticator app first, and do it in a session')
}
