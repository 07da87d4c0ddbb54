import type { UnknownPage } from '../../../http/pages/page.ts'
import { withNext, withoutLastSlash } from './next-path.ts'
import { pageHeaders, renderPage, seeOther } from './page-layout.ts'

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
