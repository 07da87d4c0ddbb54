import type { Forms, Pages, ProblemPage, Rooms, UnknownPage } from '../../../http/page.ts'
import type { IdentityDeps } from '../deps.ts'
import type { Rules } from '../rules.ts'
import { createCookie } from '../sessions/cookie.ts'
import { factorRooms } from './factor-pages.ts'
import { codeForms } from './login-pages.ts'
import { homeRoom, loginPages, problemPage } from './pages.ts'
import { passwordRoom } from './password-page.ts'
import { unknownPage } from './unknown-page.ts'

/** What a person at a browser sees of a sign-in, and of what it owes. No page needs a script. */
export function createPages(
  deps: Pick<IdentityDeps, 'tenancy' | 'waysIn' | 'publicUrl'> & Pick<Rules, 'login' | 'passwords' | 'totp'>,
): { pages: Pages; forms: Forms; rooms: Rooms; problem: ProblemPage; unknown: UnknownPage } {
  const withCookie = { ...deps, cookie: createCookie(deps.publicUrl) }
  return {
    pages: loginPages(deps),
    forms: codeForms(withCookie),
    rooms: {
      '/admin': homeRoom(deps),
      '/admin/password': passwordRoom(withCookie),
      ...factorRooms(withCookie),
    },
    problem: problemPage,
    unknown: unknownPage,
  }
}
