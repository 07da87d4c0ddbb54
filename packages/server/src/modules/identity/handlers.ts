import type { IdentityDeps } from './deps.ts'
import { grantHandlers } from './people/grants.handlers.ts'
import { createGrants } from './people/grants.ts'
import { groupHandlers } from './people/groups.handlers.ts'
import { createGroups } from './people/groups.ts'
import { userHandlers } from './people/users.handlers.ts'
import { createUsers } from './people/users.ts'
import type { IdentityRules } from './rules.ts'
import { createCookie } from './sessions/cookie.ts'
import { adminSessionHandlers } from './sessions/sessions.handlers.ts'
import { credentialHandlers } from './signin/credentials.handlers.ts'
import { loginHandlers } from './signin/login.handlers.ts'
import type { Me } from './signin/me.ts'

export function identityHandlers(deps: IdentityDeps & IdentityRules & { me: Me }) {
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
