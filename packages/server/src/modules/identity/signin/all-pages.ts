import type { Forms, Pages, ProblemPage, SignedInPages, UnknownPage } from '../../../http/pages/page.ts'
import type { PageAsset } from '../../../http/pages/page-assets.ts'
import type { IdentityDeps } from '../deps.ts'
import { createCookie } from '../sessions/cookie.ts'
import { consolePages } from './console-page.ts'
import { docsPages } from './docs-pages.ts'
import { factorPages } from './factor-pages.ts'
import type { Login } from './login.ts'
import { codeForms } from './login-pages.ts'
import type { Me } from './me.ts'
import { withNext, withoutLastSlash } from './next-path.ts'
import { pageHeaders, renderPage, seeOther } from './page-layout.ts'
import { assets } from './page-style.ts'
import { homePage, loginPages, problemPage } from './pages.ts'
import { passwordPage } from './password-page.ts'
import type { Passwords } from './passwords.ts'
import type { Totp } from './totp.ts'

/** Pages of the sign-in and of required actions. No page needs a script. */
export function createPages(
  deps: Pick<IdentityDeps, 'tenancy' | 'waysIn' | 'publicUrl' | 'consoleBuild' | 'docsBuild'> & {
    login: Login
    passwords: Passwords
    totp: Totp
    me: Me
  },
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
      ...docsPages(deps.docsBuild),
      '/admin/password': passwordPage(withCookie),
      ...factorPages(withCookie),
    },
    problem: problemPage,
    unknown: unknownPage,
    assets,
    signInPath: (next) => withNext('/admin/login', next),
  }
}

/** Version of this server, as in package.json. A test compares them. */
export const productVersion = '0.1.0'

/** Answer for an unknown page. The root redirects, and so does every address for a person who is not signed in. */
export const unknownPage: UnknownPage = ({ url, requestId, isSignedIn }) => {
  const [path = ''] = url.split('?')
  if (path === '/') return seeOther(isSignedIn ? '/admin' : '/admin/login')
  if (!isSignedIn) return seeOther(withNext('/admin/login', url))
  const canonicalUrl = withoutLastSlash(url)
  if (canonicalUrl !== undefined) return seeOther(canonicalUrl)
  return {
    status: 404,
    headers: pageHeaders,
    body: renderPage(
      'No such page',
      `<h1>No such page</h1>
<p>There is no page at this address. Check the address, or go to the start page.</p>
<p class="more"><a href="/admin">To the start page</a></p>
<p><small>Request ${requestId}</small></p>`,
    ),
  }
}
