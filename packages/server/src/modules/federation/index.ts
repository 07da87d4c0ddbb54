import type { FederationDeps } from './deps.ts'
import { pruneGrants } from './enrollment/device-grants/grants.queries.ts'
import { createDeviceGrants } from './enrollment/device-grants/grants.ts'
import { createEnrolling } from './enrollment/enrolling.ts'
import { createSamlEnrolling } from './enrollment/saml-enrolling.ts'
import { logoutHandlers } from './logout/logout.handlers.ts'
import { pruneLogoutTokens } from './logout/logout.queries.ts'
import { createLogout } from './logout/logout.ts'
import { createSignOut } from './logout/sign-out.ts'
import { createOidc } from './protocols/oidc/oidc.ts'
import { createSaml } from './protocols/saml/saml.ts'
import { createLastWay } from './providers/last-way.ts'
import { linkHandlers } from './providers/links.handlers.ts'
import { createEndLinks, createLinks } from './providers/links.ts'
import { providerHandlers } from './providers/providers.handlers.ts'
import { createProviders } from './providers/providers.ts'
import { createSamlExpiries } from './providers/saml-expiries.ts'
import { createSamlRefresh } from './providers/saml-refresh.ts'
import { createSamlSettings } from './providers/saml-settings.ts'
import { createOpening } from './sign-in/opening.ts'
import { createProvisioning } from './sign-in/provisioning.ts'
import { pruneAssertions, pruneSamlRequests } from './sign-in/saml-requests.queries.ts'
import { createSamlSignIn } from './sign-in/saml-sign-in.ts'
import { pruneRequests } from './sign-in/sign-in.queries.ts'
import { createSignIn } from './sign-in/sign-in.ts'
import { signInPages } from './sign-in/sign-in-pages.ts'

export type { Enroller, EnrollmentGrant } from './enrollment/enrolling.ts'
export { entraTenantOf, issuerProblem } from './protocols/oidc/presets.ts'
export { firstProviderAt } from './providers/providers.queries.ts'
export type { UnresolvedAccount } from './sign-in/account-resolution.ts'
export type { ProvisioningCandidate } from './sign-in/provisioning.ts'

export function createFederation(deps: FederationDeps) {
  const oidc = createOidc(deps)
  const lastWay = createLastWay(deps)
  const saml = createSaml(deps)
  const settings = createSamlSettings({ ...deps, saml })
  const metadata = createSamlRefresh({ ...deps, settings })
  const providers = createProviders({ ...deps, oidc, saml: { ...settings, ...metadata }, lastWay })
  const provisioning = createProvisioning(deps)
  const opening = createOpening(deps)
  const signIn = createSignIn({ ...deps, oidc, providers, opening })
  const deviceGrants = createDeviceGrants({ ...deps, oidc, providers, provisioning })
  const signInPaths = signInPages({ ...deps, signIn, saml: createSamlSignIn({ ...deps, saml, opening }) })
  const signOut = createSignOut({ ...deps, oidc, opening })
  const logout = createLogout({ ...deps, oidc, opening })
  return {
    deviceGrants,
    ...createEnrolling({ ...deps, oidc, provisioning }),
    endLinksOf: createEndLinks(deps),
    requireSignIn: lastWay.requireOne,
    samlEnrolling: createSamlEnrolling({ ...deps, saml, provisioning, opening }),
    prunes: [pruneRequests, pruneSamlRequests, pruneAssertions, pruneGrants, pruneLogoutTokens],
    certificateExpiries: createSamlExpiries(deps),
    jobs: [{ name: 'refresh_saml_metadata', cron: '25 * * * *', run: metadata.sweep }],
    pages: { ...signInPaths.pages, ...signOut.pages },
    forms: signInPaths.forms,
    endSessionAt: signOut.endSessionAt,
    /** Writes counts and results that are still in memory; at stop. */
    stop: () => Promise.all([deviceGrants.stop(), logout.flush(), opening.flush()]),
    waysIn: signIn.waysIn,
    handlers: {
      ...providerHandlers({ ...deps, providers, tenantName: deps.tenancy.nameOf }),
      ...linkHandlers({ links: createLinks(deps) }),
      ...logoutHandlers(logout),
    },
  }
}
export type Federation = ReturnType<typeof createFederation>
