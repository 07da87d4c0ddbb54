import { operations } from '@holdfast/contract'
import { entryPermissions } from '@holdfast/contract/endpoint'
import type { Permission } from '@holdfast/contract/vocabulary'
import type { HtmlPageAnswer } from '../../../http/answer/html-page.ts'
import type { Inside, SignedInPage, SignedInPages } from '../../../http/pages/page.ts'
import { assetPath } from '../../../http/pages/page-assets.ts'
import type { ConsolePage } from '../deps.ts'
import type { Me } from './me.ts'
import { withNext, withoutLastSlash } from './next-path.ts'
import { escapeHtml, pageHeaders, renderDocument, seeOther } from './page-layout.ts'
import { shield } from './page-style.ts'

/** Pages of the web console, at the path of each view. The console itself shows the view. */
export function consolePages({ script, views }: ConsolePage, { me, version }: ConsoleData): SignedInPages {
  const pageOf = (
    files: ViewFiles,
    head = headOf(script, files),
    reads = files.reads.flatMap(toRead),
  ): SignedInPage => ({
    get: async (visit) => {
      // An address that ends with a slash would give an empty parameter.
      const canonicalUrl = withoutLastSlash(visit.url)
      if (canonicalUrl !== undefined) return seeOther(canonicalUrl)
      return (
        requiredActionPage(visit) ??
        page(`${head}\n${mayView(files, visit) ? readsOf(reads, visit) : ''}`, {
          me: await me.describe(visit.actor),
          version,
        })
      )
    },
  })
  return Object.fromEntries(Array.from(views, ([path, files]) => [path.replaceAll('$', ':'), pageOf(files)]))
}

/** `permissions`: the caller needs one of them; undefined: none. */
type Read = { path: string; permissions: readonly Permission[] | undefined }
/** Finds the permissions of a read. A path without an operation is left out. */
const toRead = (path: string): Read[] => {
  const [name] = path.split('?')
  const found = operations.find(([, { method, path }]) => method === 'GET' && path === name)?.[1]
  return found ? [{ path, permissions: entryPermissions(found) }] : []
}
/**
 * First reads of the view, so that they are under way while the script loads. An address with parameters leads to other
 * reads.
 */
const readsOf = (reads: readonly Read[], { url, actor: { principal } }: Inside): string =>
  (url.includes('?') ? [] : reads)
    .filter(({ permissions }) => permissions?.some((one) => principal.permissions.has(one)) ?? true)
    .map(({ path }) => `<link rel="preload" as="fetch" href="${escapeHtml(path)}" crossorigin>`)
    .join('\n')

const mayView = ({ permission }: ViewFiles, { actor: { principal } }: Inside): boolean =>
  permission === undefined || principal.permissions.has(permission as Permission)

type ViewFiles = ConsolePage['views'] extends ReadonlyMap<string, infer F> ? F : never
type ConsoleData = { me: Me; version: string }

/** Redirects a session to the page of its required action; undefined if there is none. */
export function requiredActionPage({ actor, url }: Inside): HtmlPageAnswer | undefined {
  const { requiredAction } = actor.principal
  if (requiredAction === 'change_password') return seeOther(withNext('/admin/password', url))
  return requiredAction === 'enroll_mfa' ? seeOther(withNext('/admin/second-factor', url)) : undefined
}

/**
 * All files of the view load at once, so that the view does not wait until the script has asked for them. The script is
 * the largest file, and comes first: browsers open only six connections on HTTP/1.1.
 */
const headOf = (script: string, { preloads, styles }: ViewFiles): string =>
  [
    `<script type="module" src="${assetPath(script)}"></script>`,
    ...styles.map((file) => `<link rel="stylesheet" href="${assetPath(file)}">`),
    ...preloads.map((file) => `<link rel="modulepreload" href="${assetPath(file)}">`),
  ].join('\n')

type Boot = { me: Awaited<ReturnType<Me['describe']>>; version: string }
const page = (head: string, boot: Boot): HtmlPageAnswer => ({
  headers: pageHeaders,
  body: renderDocument({
    title: 'Holdfast',
    head: `<meta id="react-aria-pressable-style">
${head}
<script type="application/json" id="boot">${escapeJson(boot)}</script>`,
    body: `<div id="root">${frameOf(boot.me.tenant_name)}</div>`,
  }),
})

/** Frame of the console, visible until the script has run and replaces it. */
const frameOf = (tenantName: string): string => `
<div class="app">
<div class="sidebar" popover><span class="brand">${shield}Holdfast</span></div>
<div class="topbar"><span class="tenant static"><span class="mark" aria-hidden="true"></span> <span class="trunc">${escapeHtml(tenantName)}</span></span></div>
<main class="main">
<div class="page"><div class="blank">
<noscript>
<p>The console needs JavaScript. Turn it on for this site and load the page again.</p>
<form method="post" action="/admin/logout"><button class="btn" type="submit">Sign out</button></form>
</noscript>
<p class="longload">The console is loading. Load the page again if nothing appears.</p>
</div></div>
</main>
</div>
`

/** Escapes characters that could end the script element. */
const escapeJson = (value: object): string =>
  JSON.stringify(value).replaceAll(/[<\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
