import { createPasswordHasher } from '@holdfast/crypto'
import { background } from '../../db/database.ts'
import type { IdentityDeps } from './deps.ts'
import { createOwned } from './owned/owned.ts'
import { createTenantAdministrators } from './people/administrator-of-tenant.ts'
import { createEndAccess } from './people/end-access.ts'
import { createFirstAdmins } from './people/first-admin.ts'
import { grantHandlers } from './people/grants.handlers.ts'
import { createGrants } from './people/grants.ts'
import { groupHandlers } from './people/groups.handlers.ts'
import { createGroups } from './people/groups.ts'
import { createRecovery } from './people/recovery.ts'
import { createPeopleHits } from './people/search-hits.ts'
import { createRequireStoppable } from './people/standing-in.ts'
import { userHandlers } from './people/users.handlers.ts'
import { createUsers } from './people/users.ts'
import { createIdentityRules, type IdentityRules } from './rules.ts'
import { createCookie } from './sessions/cookie.ts'
import { adminSessionHandlers } from './sessions/sessions.handlers.ts'
import { pruneSessions } from './sessions/sessions.queries.ts'
import { createPages } from './signin/all-pages.ts'
import { createByProvider } from './signin/by-provider.ts'
import { credentialHandlers } from './signin/credentials.handlers.ts'
import { loginHandlers } from './signin/login.handlers.ts'
import { forgetFailures } from './signin/login.queries.ts'
import { createMe, type Me } from './signin/me.ts'
import { createSourceFailures } from './signin/source-failures.ts'

export { type IdentityDeps, type NotifyAdministrators, type PasswordCost, usualPasswordCost } from './deps.ts'
export type { NewGroup, NewUser, Pair, UserAfter } from './owned/apply.queries.ts'
export type { GroupEntry, UserEntry } from './owned/entries.queries.ts'
export type { OwnedGroup, OwnedUser } from './owned/owned.queries.ts'
export { type Owned, recordedChanges, rolesOf } from './owned/owned.ts'
export type { OwnedChanges } from './owned/owned-changes.ts'
export { type Searched, type SearchedEntry, searchedGroups, searchedUsers } from './owned/search.queries.ts'
export { type Warning, warned } from './people/administrators.ts'
export { wasSetBy } from './people/credential-setters.queries.ts'
export { unownedKey } from './people/credential-setters.ts'
export { canonicalEmail } from './people/email.ts'
export { firstPasswordProblem } from './people/first-admin.ts'
export { countSuspended, knownGroups, secondFactorAt, userExists, usernameOf } from './people/known.queries.ts'
export { breakGlassUsername, longestUsername, newUsername } from './people/new-username.ts'
export { listOfEnded } from './people/recovery.ts'
export { holdStoppable, requireMayLetIn, requireNotStronger } from './people/standing-in.ts'
export { canonicalUsername } from './people/username.ts'
export { isOwnExternalId, ownExternalId, shownExternalId } from './people/users.queries.ts'
export { createCookie } from './sessions/cookie.ts'
export type { ByProvider } from './signin/by-provider.ts'
export { safeNext } from './signin/next-path.ts'
export { escapeHtml, pageHeaders, renderPage } from './signin/page-layout.ts'
export type { SourceFailures } from './signin/source-failures.ts'

export function createIdentity(identityDeps: IdentityDeps) {
  const deps = {
    ...identityDeps,
    hasher: createPasswordHasher({ concurrency: 2, maxQueue: 200, params: identityDeps.passwordCost }),
  }
  const { db } = deps
  const rules = createIdentityRules(deps)
  const { sessions, login, stepUp, breakGlass } = rules
  const me = createMe({ ...deps, sessions })
  const { createUser, createFirstAdmin } = createFirstAdmins(deps)

  return {
    verifySession: sessions.verify,
    idleExpiresAt: sessions.idleExpiresAt,
    prunes: [pruneSessions],
    searchHits: createPeopleHits(deps),
    createUser,
    createFirstAdmin,
    /** Hashes the password before the transaction that creates the tenant. */
    prepareAdministrator: createTenantAdministrators(deps),
    /** For the operator of the server: makes a break-glass user able to sign in, independent of all other accounts. */
    recover: createRecovery({ ...deps, sessions }),
    breakGlass,
    requireStoppable: createRequireStoppable({ ...deps, breakGlass }),
    /** Ends the admin sessions of users, in the transaction that stops the users. The caller records the changes. */
    endAdminSessions: sessions.endOfUsers,
    endAccess: createEndAccess({ ...deps, sessions }),
    owned: createOwned(deps),
    /** For the request pipeline: throws if a change needs a fresh one-time code that the session has not shown. */
    requireStepUp: stepUp.require,
    jobs: [
      { name: 'end_idle_sessions', cron: '* * * * *', run: sessions.sweep },
      { name: 'forget_login_failures', cron: '10 * * * *', run: () => db.acrossTenants(forgetFailures, background) },
    ],
    stop: () => Promise.all([sessions.flush(), login.flush()]),
    /** Sign-in by identity providers, in the transactions of the callers. */
    people: createByProvider({ ...deps, sessions }),
    failures: createSourceFailures(deps),
    browser: createPages({ ...deps, ...rules, me }),
    handlers: identityHandlers({ ...deps, ...rules, me }),
  }
}
export type Identity = ReturnType<typeof createIdentity>

function identityHandlers(deps: IdentityDeps & IdentityRules & { me: Me }) {
  const withCookie = { ...deps, cookie: createCookie(deps.publicUrl) }
  return {
    ...loginHandlers(withCookie),
    ...credentialHandlers(withCookie),
    ...adminSessionHandlers(deps),
    ...userHandlers({ ...deps, users: createUsers(deps) }),
    ...groupHandlers({ ...deps, groups: createGroups(deps) }),
    ...grantHandlers({ ...deps, grants: createGrants(deps) }),
  }
}
