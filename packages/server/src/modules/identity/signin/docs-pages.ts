import { HtmlPage, type HtmlPageAnswer } from '../../../http/answer/html-page.ts'
import type { Inside, SignedInPages } from '../../../http/pages/page.ts'
import { assetAnswer } from '../../../http/pages/page-assets.ts'
import { pageHeaders } from '../../../http/pages/page-headers.ts'
import type { DocsSite } from '../deps.ts'
import { requiredActionPage } from './console-page.ts'
import { renderPage, seeOther } from './page-layout.ts'

/** Address of the first page. Links in the site are relative to it. */
const root = '/admin/docs/'

/** The site of the documentation, for every session of an administrator. */
export function docsPages(site: DocsSite | undefined): SignedInPages {
  const answers = site && answersOf(site)
  const notFound = answers?.get('404.html') ?? notBuilt
  const get = (visit: Inside): HtmlPageAnswer => {
    const path = visit.params['*'] || 'index.html'
    const found = path === '404.html' ? undefined : answers?.get(path)
    return requiredActionPage(visit) ?? found ?? { ...notFound, status: 404 }
  }
  return { '/admin/docs': { get: () => seeOther(root) }, [`${root}*`]: { get } }
}

const answersOf = ({ pages, assets }: DocsSite): ReadonlyMap<string, HtmlPageAnswer> =>
  new Map([
    ...Array.from(pages, ([path, html]) => [path, pageAnswer(html)] as const),
    ...Array.from(assets, ([path, asset]) => [path, assetAnswer(path, asset, 'private')] as const),
  ])

const withoutLook = '<html lang="en">'

/** The page has the theme of the browser's cookies, so a browser asks each time whether its copy is current. */
const pageAnswer = (html: string): HtmlPageAnswer => ({
  headers: { ...pageHeaders, 'cache-control': 'private, no-cache', vary: 'accept-encoding, cookie' },
  isRevalidated: true,
  body: new HtmlPage((attributes) => html.replace(withoutLook, () => `<html ${attributes}>`)),
})

const notBuilt: HtmlPageAnswer = {
  headers: pageHeaders,
  body: renderPage(
    'No documentation',
    `<h1>No documentation</h1>
<p>This server runs without its documentation. Start it with <code>npm start</code>, which builds the pages.</p>
<p class="more"><a href="/admin">To the start page</a></p>`,
  ),
}
