import type { FederationDeps } from './deps.ts'
import { logoutHandlers } from './logout/logout.handlers.ts'
import type { Logout } from './logout/logout.ts'
import { linkHandlers } from './providers/links.handlers.ts'
import { createLinks } from './providers/links.ts'
import { providerHandlers } from './providers/providers.handlers.ts'
import type { Providers } from './providers/providers.ts'

export const federationHandlers = (deps: FederationDeps & { providers: Providers; logout: Logout }) => ({
  ...providerHandlers({ ...deps, tenantName: deps.tenancy.nameOf }),
  ...linkHandlers({ links: createLinks(deps) }),
  ...logoutHandlers(deps.logout),
})
