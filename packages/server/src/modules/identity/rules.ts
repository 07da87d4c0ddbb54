import type { PasswordHasher } from '@holdfast/crypto'
import type { IdentityDeps } from './deps.ts'
import { createBreakGlass } from './people/break-glass.ts'
import { createAdminSessions } from './sessions/sessions.ts'
import { createSignInAttempts } from './signin/attempts.ts'
import { createCodeStep } from './signin/code-step.ts'
import { createLogin } from './signin/login.ts'
import { createOwnPassword } from './signin/own-password.ts'
import { createPasswords } from './signin/passwords.ts'
import { createSecondFactor } from './signin/second-factor.ts'
import { createSignInSteps } from './signin/sign-in-steps.ts'
import { createStepUp } from './signin/step-up.ts'
import { createTotp } from './signin/totp.ts'

/** Parts of sign-in and account rules, each created once, in the order of their dependencies. */
export function createIdentityRules(deps: IdentityDeps & { hasher: PasswordHasher }) {
  const sessions = createAdminSessions(deps)
  const breakGlass = createBreakGlass({ ...deps, sessions })
  const attempts = createSignInAttempts(deps)
  const factor = createSecondFactor(deps)
  const steps = createSignInSteps({ ...deps, sessions, factor, attempts })
  const ownPassword = createOwnPassword({ ...deps, attempts })
  return {
    sessions,
    breakGlass,
    stepUp: createStepUp({ ...deps, attempts, factor, sessions }),
    login: createLogin({ ...deps, steps, factor, codeStep: createCodeStep({ ...deps, factor }) }),
    passwords: createPasswords({ ...deps, ownPassword, sessions, breakGlass }),
    totp: createTotp({ ...deps, factor, attempts, ownPassword, sessions }),
  }
}
export type IdentityRules = ReturnType<typeof createIdentityRules>
