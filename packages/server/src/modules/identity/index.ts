import { createPasswordHasher } from '@holdfast/crypto'
import { background } from '../../db/database.ts'
import type { IdentityDeps } from './deps.ts'
import { identityHandlers } from './handlers.ts'
import { createOwned } from './owned/owned.ts'
import { createTenantAdministrators } from './people/administrator-of-tenant.ts'
import { createEndAccess } from './people/end-access.ts'
import { createFirstAdmins } from './people/first-admin.ts'
import { createRecovery } from './people/recovery.ts'
import { createPeopleHits } from './people/search-hits.ts'
import { createRequireStoppable } from './people/standing-in.ts'
import { createIdentityRules } from './rules.ts'
import { pruneSessions } from './sessions/sessions.queries.ts'
import { createPages } from './signin/all-pages.ts'
import { createByProvider } from './signin/by-provider.ts'
import { forgetFailures } from './signin/login.queries.ts'
import { createMe } from './signin/me.ts'
import { createSourceFailures } from './signin/source-failures.ts'

export { type IdentityDeps, type NotifyAdministrators, type PasswordCost, usualPasswordCost } from './deps.ts'
export * from './owned/door.ts'
export * from './people/door.ts'
export * from './signin/door.ts'

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
