import type { IdentityDeps } from './deps.ts'
import { grantHandlers } from './people/grants.handlers.ts'
import { createGrants } from './people/grants.ts'
import { groupHandlers } from './people/groups.handlers.ts'
import { createGroups } from './people/groups.ts'
import { userHandlers } from './people/users.handlers.ts'
import { createUsers } from './people/users.ts'
import { createCookie } from './sessions/cookie.ts'
import { sessionHandlers } from './sessions/sessions.handlers.ts'
import type { Sessions } from './sessions/sessions.ts'
import { credentialHandlers } from './signin/credentials.handlers.ts'
import { loginHandlers } from './signin/login.handlers.ts'
import type { Login } from './signin/login.ts'
import { createMe } from './signin/me.ts'
import type { Passwords } from './signin/passwords.ts'
import type { StepUp } from './signin/step-up.ts'
import type { Totp } from './signin/totp.ts'

type Rules = { sessions: Sessions; login: Login; passwords: Passwords; totp: Totp; stepUp: StepUp }

export function identityHandlers(deps: IdentityDeps & Rules) {
  const withCookie = { ...deps, cookie: createCookie(deps.publicUrl) }
  return {
    ...loginHandlers({ ...withCookie, me: createMe(deps) }),
    ...credentialHandlers(withCookie),
    ...sessionHandlers(deps),
    ...userHandlers({ ...deps, users: createUsers(deps) }),
    ...groupHandlers({ ...deps, groups: createGroups(deps) }),
    ...grantHandlers({ ...deps, grants: createGrants(deps) }),
  }
}
