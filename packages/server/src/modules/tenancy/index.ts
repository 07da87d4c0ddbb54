import type { SecuritySettings } from '@holdfast/contract/settings'
import type { TenantId } from '../../kernel/actor.ts'
import { createSettings, type SettingsDeps } from './settings.ts'
import { tenancyHandlers } from './tenancy.handlers.ts'
import { createTenants } from './tenants.ts'

export function createTenancy(deps: SettingsDeps) {
  const settings = createSettings(deps)
  return {
    ...createTenants(deps),
    enforcesSso: settings.enforcesSso,
    holdEnforcement: settings.holdEnforcement,
    settings: (tenant: TenantId): SecuritySettings | Promise<SecuritySettings> => settings.read(tenant),
    handlers: tenancyHandlers(settings),
  }
}
export type Tenancy = ReturnType<typeof createTenancy>
