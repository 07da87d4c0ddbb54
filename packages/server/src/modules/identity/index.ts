import { createPasswordHasher } from '@holdfast/crypto'
import { background } from '../../db/database.ts'
import type { IdentityDeps } from './deps.ts'
import { identityHandlers } from './handlers.ts'
import { createOwned } from './owned/owned.ts'
import { createFirstAdmins } from './people/first-admin.ts'
import { pruneSessions } from './sessions/sessions.queries.ts'
import { createSessions } from './sessions/sessions.ts'
import { createAttempts } from './signin/attempts.ts'
import { createByProvider } from './signin/by-provider.ts'
import { forgetFailures } from './signin/login.queries.ts'
import { createLogin } from './signin/login.ts'
import { createOwnPassword } from './signin/own-password.ts'
import { createPages } from './signin/pages.ts'
import { createPasswords } from './signin/passwords.ts'
import { createSecondFactor } from './signin/second-factor.ts'
import { createSourceFailures } from './signin/source-failures.ts'
import { createStepUp } from './signin/step-up.ts'
import { createTotp } from './signin/totp.ts'

export type { IdentityDeps, Notify } from './deps.ts'
export * from './owned/door.ts'
export { firstPasswordProblem } from './people/first-admin.ts'
export { knownGroups, userExists } from './people/known.queries.ts'
export { requireNotStronger } from './people/standing-in.ts'
export * from './signin/door.ts'

export function createIdentity(given: IdentityDeps) {
  const deps = { ...given, hasher: createPasswordHasher({ concurrency: 2, maxQueue: 200 }) }
  const { db } = deps
  const sessions = createSessions(deps)
  const attempts = createAttempts(deps)
  const factor = createSecondFactor(deps)
  const ownPassword = createOwnPassword({ ...deps, attempts })
  const stepUp = createStepUp({ ...deps, attempts, factor, sessions })
  const login = createLogin({ ...deps, sessions, factor, attempts })
  const passwords = createPasswords({ ...deps, ownPassword, sessions })
  const totp = createTotp({ ...deps, factor, attempts, ownPassword, sessions })
  const { createUser, createFirstAdmin } = createFirstAdmins(deps)

  return {
    verifySession: sessions.verify,
    prunes: [pruneSessions],
    createUser,
    createFirstAdmin,
    owned: createOwned({ ...deps, sessions }),
    /** For the pipe: throws where a change needs a fresh one-time code that the session has not shown. */
    requireStepUp: stepUp.require,
    jobs: [
      { name: 'end_idle_sessions', cron: '* * * * *', run: sessions.sweep },
      { name: 'forget_login_failures', cron: '10 * * * *', run: () => db.acrossTenants(forgetFailures, background) },
    ],
    /** Writes what is still in memory; at stop. */
    stop: () => Promise.all([sessions.flush(), login.flush()]),
    /** Sign-in by identity providers, in the transactions of those who decide it. */
    people: createByProvider({ ...deps, sessions }),
    failures: createSourceFailures(deps),
    ...createPages(deps),
    handlers: identityHandlers({ ...deps, sessions, login, passwords, totp, stepUp }),
  }
}
export type Identity = ReturnType<typeof createIdentity>
