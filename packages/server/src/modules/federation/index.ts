import type { FederationDeps } from './deps.ts'
import { createDeviceGrants } from './device-grants/grants.ts'
import { createEndLinks } from './end-links.ts'
import { createEnrolling } from './enrolling.ts'
import { federationHandlers } from './handlers.ts'
import { createLastWay } from './last-way.ts'
import { createLogout } from './logout.ts'
import { createNewcomers } from './newcomer.ts'
import { createOidc } from './oidc/oidc.ts'
import { createOpening } from './opening.ts'
import { createProviders } from './providers.ts'
import { prunes } from './prunes.ts'
import { createSaml } from './saml/saml.ts'
import { createSamlEnrolling } from './saml-enrolling.ts'
import { createSamlExpiries } from './saml-expiries.ts'
import { createSamlRefresh } from './saml-refresh.ts'
import { createSamlSettings } from './saml-settings.ts'
import { createSamlSignIn } from './saml-sign-in.ts'
import { createSignIn } from './sign-in.ts'
import { signInPages } from './sign-in-pages.ts'
import { createSignOut } from './sign-out.ts'

export type { Enroller, EnrollmentGrant } from './enrolling.ts'
export type { Newcomer } from './newcomer.ts'
export { entraTenantOf, issuerProblem } from './oidc/presets.ts'
export type { Unrecognised } from './recognise.ts'
export { firstProviderAt } from './start.queries.ts'

export function createFederation(deps: FederationDeps) {
  const oidc = createOidc(deps)
  const lastWay = createLastWay(deps)
  const saml = createSaml(deps)
  const settings = createSamlSettings({ ...deps, saml })
  const metadata = createSamlRefresh({ ...deps, settings })
  const providers = createProviders({ ...deps, oidc, saml: { ...settings, ...metadata }, lastWay })
  const newcomer = createNewcomers(deps)
  const opening = createOpening(deps)
  const signIn = createSignIn({ ...deps, oidc, providers, opening })
  const deviceGrants = createDeviceGrants({ ...deps, oidc, providers, newcomer })
  const signInPaths = signInPages({ ...deps, signIn, saml: createSamlSignIn({ ...deps, saml, opening }) })
  const signOut = createSignOut({ ...deps, oidc, opening })
  const logout = createLogout({ ...deps, oidc, opening })
  return {
    deviceGrants,
    ...createEnrolling({ ...deps, oidc, newcomer }),
    endLinksOf: createEndLinks(deps),
    requireSignIn: lastWay.requireOne,
    samlEnrolling: createSamlEnrolling({ ...deps, saml, newcomer, opening }),
    prunes,
    certificateExpiries: createSamlExpiries(deps),
    jobs: [{ name: 'refresh_saml_metadata', cron: '25 * * * *', run: metadata.sweep }],
    pages: { ...signInPaths.pages, ...signOut.pages },
    forms: signInPaths.forms,
    endSessionAt: signOut.endSessionAt,
    /** Writes counts and results that are still in memory; at stop. */
    stop: () => Promise.all([deviceGrants.stop(), logout.flush(), opening.flush()]),
    waysIn: signIn.waysIn,
    handlers: federationHandlers({ ...deps, providers, logout }),
  }
}
export type Federation = ReturnType<typeof createFederation>
