import {
  defaultEnrollmentSettings,
  type EnrollmentSettings,
  type GivenEnrollmentSettings,
} from '@holdfast/contract/enrollment-settings'
import type { Database, Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { Audit } from '../../audit/index.ts'
import { checkInstallLines, linesInForce } from './install-lines.ts'
import { mergeSections, onlyChanged, sectionDifferences } from './merge.ts'
import { lockEnrollment, readEnrollment, writeEnrollment } from './settings.queries.ts'

/** Settings for the enrollment of a tenant's clients. They are read when a token is made, so no replica caches them. */
export function createEnrollmentSettings({
  db,
  audit,
  publicUrl,
  now,
}: {
  db: Database
  audit: Audit
  publicUrl: string
  now: () => Date
}) {
  const read = async (tx: Tx, tenant: TenantId): Promise<GivenEnrollmentSettings> =>
    mergeSections(defaultEnrollmentSettings, await readEnrollment(tx, tenant))

  return {
    read,
    view: (given: GivenEnrollmentSettings): EnrollmentSettings => ({
      install_templates: given.install_templates,
      download_urls: given.download_urls,
      install_lines: linesInForce(given, publicUrl),
    }),

    /** Replaces all of them. Unchanged values are not recorded. */
    replace: (
      actor: Actor,
      after: GivenEnrollmentSettings,
      expected: ExpectedVersion,
    ): Promise<GivenEnrollmentSettings> => {
      checkInstallLines(after)
      return db.inTenant(actor.tenantId, async (tx) => {
        const stored = await lockEnrollment(tx, actor.tenantId)
        const before = mergeSections(defaultEnrollmentSettings, stored)
        expected.require(before)
        const changed = sectionDifferences(before, after)
        if (Object.keys(changed).length === 0) return before
        await writeEnrollment(tx, actor.tenantId, mergeSections(stored, onlyChanged(before, after)), now())
        await audit.record(tx, actor, 'enrollment_settings.updated', {}, { changes: changed })
        return after
      })
    },
  }
}
export type EnrollmentSettingsRules = ReturnType<typeof createEnrollmentSettings>
