import type { FederationDeps } from './deps.ts'
import { linkHandlers } from './links.handlers.ts'
import { createLinks } from './links.ts'
import { logoutHandlers } from './logout.handlers.ts'
import type { Logout } from './logout.ts'
import { providerHandlers } from './providers.handlers.ts'
import type { Providers } from './providers.ts'

export const federationHandlers = (deps: FederationDeps & { providers: Providers; logout: Logout }) => ({
  ...providerHandlers({ ...deps, tenantName: deps.tenancy.nameOf }),
  ...linkHandlers({ links: createLinks(deps) }),
  ...logoutHandlers(deps.logout),
})
