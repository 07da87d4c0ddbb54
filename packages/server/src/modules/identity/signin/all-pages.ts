import type { Forms, Pages, ProblemPage, Rooms, UnknownPage } from '../../../http/pages/page.ts'
import type { PageAsset } from '../../../http/pages/page-assets.ts'
import { productVersion } from '../../../kernel/product-version.ts'
import type { IdentityDeps } from '../deps.ts'
import type { IdentityRules } from '../rules.ts'
import { createCookie } from '../sessions/cookie.ts'
import { consoleRooms } from './console-page.ts'
import { factorRooms } from './factor-pages.ts'
import { codeForms } from './login-pages.ts'
import type { Me } from './me.ts'
import { withNext } from './next-path.ts'
import { assets } from './page-style.ts'
import { homeRoom, loginPages, problemPage } from './pages.ts'
import { passwordRoom } from './password-page.ts'
import { unknownPage } from './unknown-page.ts'

/** Pages of the sign-in and of required actions. No page needs a script. */
export function createPages(
  deps: Pick<IdentityDeps, 'tenancy' | 'waysIn' | 'publicUrl' | 'consoleBuild'> &
    Pick<IdentityRules, 'login' | 'passwords' | 'totp'> & { me: Me },
): {
  pages: Pages
  forms: Forms
  rooms: Rooms
  problem: ProblemPage
  unknown: UnknownPage
  assets: readonly [string, PageAsset][]
  signInPath: (next: string) => string
} {
  const withCookie = { ...deps, cookie: createCookie(deps.publicUrl) }
  return {
    pages: loginPages(deps),
    forms: codeForms(withCookie),
    rooms: {
      ...(deps.consoleBuild
        ? consoleRooms(deps.consoleBuild, { me: deps.me, version: productVersion })
        : { '/admin': homeRoom(deps) }),
      '/admin/password': passwordRoom(withCookie),
      ...factorRooms(withCookie),
    },
    problem: problemPage,
    unknown: unknownPage,
    assets,
    signInPath: (next) => withNext('/admin/login', next),
  }
}
