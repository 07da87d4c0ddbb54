import type { Forms, Pages, ProblemPage, SignedInPages, UnknownPage } from '../../../http/pages/page.ts'
import type { PageAsset } from '../../../http/pages/page-assets.ts'
import { productVersion } from '../../../kernel/product-version.ts'
import type { IdentityDeps } from '../deps.ts'
import type { IdentityRules } from '../rules.ts'
import { createCookie } from '../sessions/cookie.ts'
import { consolePages } from './console-page.ts'
import { factorPages } from './factor-pages.ts'
import { codeForms } from './login-pages.ts'
import type { Me } from './me.ts'
import { withNext } from './next-path.ts'
import { assets } from './page-style.ts'
import { homePage, loginPages, problemPage } from './pages.ts'
import { passwordPage } from './password-page.ts'
import { unknownPage } from './unknown-page.ts'

/** Pages of the sign-in and of required actions. No page needs a script. */
export function createPages(
  deps: Pick<IdentityDeps, 'tenancy' | 'waysIn' | 'publicUrl' | 'consoleBuild'> &
    Pick<IdentityRules, 'login' | 'passwords' | 'totp'> & { me: Me },
): {
  pages: Pages
  forms: Forms
  signedInPages: SignedInPages
  problem: ProblemPage
  unknown: UnknownPage
  assets: readonly [string, PageAsset][]
  signInPath: (next: string) => string
} {
  const withCookie = { ...deps, cookie: createCookie(deps.publicUrl) }
  return {
    pages: loginPages(deps),
    forms: codeForms(withCookie),
    signedInPages: {
      ...(deps.consoleBuild
        ? consolePages(deps.consoleBuild, { me: deps.me, version: productVersion })
        : { '/admin': homePage(deps) }),
      '/admin/password': passwordPage(withCookie),
      ...factorPages(withCookie),
    },
    problem: problemPage,
    unknown: unknownPage,
    assets,
    signInPath: (next) => withNext('/admin/login', next),
  }
}
