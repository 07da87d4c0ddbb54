import type { FederationDeps } from './deps.ts'
import { createEnrolling } from './enrolling.ts'
import { createLastWay } from './last-way.ts'
import { linkHandlers } from './links.handlers.ts'
import { createLinks } from './links.ts'
import { createNewcomers } from './newcomer.ts'
import { createOidc } from './oidc/oidc.ts'
import { providerHandlers } from './providers.handlers.ts'
import { createProviders } from './providers.ts'
import { pruneRequests } from './sign-in.queries.ts'
import { createSignIn } from './sign-in.ts'
import { pathTo, signInPages } from './sign-in-pages.ts'

export type { Enroller, EnrollmentGrant } from './enrolling.ts'
export type { Newcomer } from './newcomer.ts'
export type { Unrecognised } from './recognise.ts'

export function createFederation(deps: FederationDeps) {
  const oidc = createOidc(deps)
  const lastWay = createLastWay(deps)
  const providers = createProviders({ ...deps, oidc, lastWay })
  const newcomer = createNewcomers(deps)
  const signIn = createSignIn({ ...deps, oidc, providers })
  return {
    ...createEnrolling({ ...deps, oidc, newcomer }),
    requireSignIn: lastWay.requireOne,
    prunes: [pruneRequests],
    pages: signInPages({ ...deps, signIn }),
    /** For the sign-in page, which is the tenant's that needs no name. */
    offered: async () => (await signIn.offered('default')).map((o) => ({ path: pathTo(o, 'default'), name: o.name })),
    handlers: {
      ...providerHandlers({ ...deps, providers }),
      ...linkHandlers({ links: createLinks(deps) }),
    },
  }
}
export type Federation = ReturnType<typeof createFederation>
