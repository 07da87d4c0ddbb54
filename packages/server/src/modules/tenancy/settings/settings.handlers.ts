import type { Handlers } from '../../../http/handlers.ts'
import { versioned } from '../../../kernel/version.ts'
import type { Settings } from './settings.ts'

export const settingsHandlers = (settings: Settings) =>
  ({
    getSecuritySettings: async ({ actor }) => {
      const found = await settings.read(actor.tenantId)
      return versioned(found, found)
    },
    updateSecuritySettings: ({ actor, body, expected }) => settings.replace(actor, body, expected),
  }) satisfies Partial<Handlers>
