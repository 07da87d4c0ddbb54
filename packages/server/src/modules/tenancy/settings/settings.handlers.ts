import type { Database } from '../../../db/database.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { versioned } from '../../../kernel/version.ts'
import type { EnrollmentSettingsRules } from './enrollment.ts'
import type { TenantSettings } from './settings.ts'

export const settingsHandlers = ({
  db,
  settings,
  enrollmentSettings,
}: {
  db: Database
  settings: TenantSettings
  enrollmentSettings: EnrollmentSettingsRules
}) =>
  ({
    getSecuritySettings: async ({ actor }) => {
      const found = await settings.read(actor.tenantId)
      return versioned(found, found)
    },
    updateSecuritySettings: ({ actor, body, expected }) => settings.replace(actor, body, expected),
    getEnrollmentSettings: async ({ actor }) => {
      const given = await db.inTenant(actor.tenantId, (tx) => enrollmentSettings.read(tx, actor.tenantId))
      return versioned(given, enrollmentSettings.view(given))
    },
    updateEnrollmentSettings: async ({ actor, body: { install_lines: _, ...given }, expected }) =>
      enrollmentSettings.view(await enrollmentSettings.replace(actor, given, expected)),
  }) satisfies Partial<Handlers>
