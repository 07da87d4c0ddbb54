import type { HtmlPageAnswer } from '../../../http/answer/html-page.ts'
import type { Inside, SignedInPage, SignedInPages } from '../../../http/pages/page.ts'
import { assetPath } from '../../../http/pages/page-assets.ts'
import type { ConsolePage } from '../deps.ts'
import type { Me } from './me.ts'
import { withNext, withoutLastSlash } from './next-path.ts'
import { pageHeaders, renderDocument, seeOther } from './page-layout.ts'

/** Page of the web console, at each path of its views. The console itself shows the view. */
export function consolePages(console: ConsolePage, { me, version }: { me: Me; version: string }): SignedInPages {
  const head = headOf(console)
  const consolePage: SignedInPage = {
    get: async (visit) => {
      // An address that ends with a slash would give an empty parameter.
      const canonicalUrl = withoutLastSlash(visit.url)
      if (canonicalUrl !== undefined) return seeOther(canonicalUrl)
      return requiredActionPage(visit) ?? page(head, { me: await me.describe(visit.actor), version })
    },
  }
  return Object.fromEntries(console.paths.map((path) => [path.replaceAll('$', ':'), consolePage]))
}

/** Redirects a session to the page of its required action; undefined if there is none. */
export function requiredActionPage({ actor, url }: Inside): HtmlPageAnswer | undefined {
  const { requiredAction } = actor.principal
  if (requiredAction === 'change_password') return seeOther(withNext('/admin/password', url))
  return requiredAction === 'enroll_mfa' ? seeOther(withNext('/admin/second-factor', url)) : undefined
}

const headOf = ({ script, preloads, styles }: ConsolePage): string =>
  [
    ...styles.map((file) => `<link rel="stylesheet" href="${assetPath(file)}">`),
    ...preloads.map((file) => `<link rel="modulepreload" href="${assetPath(file)}">`),
    `<script type="module" src="${assetPath(script)}"></script>`,
  ].join('\n')

const page = (head: string, boot: object): HtmlPageAnswer => ({
  headers: pageHeaders,
  body: renderDocument({
    title: 'Holdfast',
    head: `<meta id="react-aria-pressable-style">
${head}
<script type="application/json" id="boot">${escapeJson(boot)}</script>`,
    body: `<div id="root"></div>
<noscript>
<p>The console needs JavaScript. Turn it on for this site and load the page again.</p>
<form method="post" action="/admin/logout"><button type="submit">Sign out</button></form>
</noscript>`,
  }),
})

/** Escapes characters that could end the script element. */
const escapeJson = (value: object): string =>
  JSON.stringify(value).replaceAll(/[<\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
