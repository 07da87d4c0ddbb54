import type { UnknownPage } from '../../../http/page.ts'
import { safeNext } from './next-path.ts'
import { pageHeaders, renderPage, seeOther } from './page-layout.ts'

/** Longer addresses are not carried through the sign-in. */
const longestNext = 1024

/** A browser that opens what is no page: the root leads on, as does everything for a person who is not signed in. */
export const unknownPage: UnknownPage = ({ url, requestId, isSignedIn }) => {
  const [path = ''] = url.split('?')
  if (path === '/' || path === '/admin/') return seeOther(isSignedIn ? '/admin' : '/admin/login')
  if (!isSignedIn) {
    const next = url.length > longestNext ? undefined : safeNext(url)
    return seeOther(next === undefined ? '/admin/login' : `/admin/login?${new URLSearchParams({ next })}`)
  }
  return {
    status: 404,
    headers: pageHeaders,
    body: renderPage(
      'No such page',
      `<h1>No such page</h1>
<p>There is no page at this address. Check it, or begin at the start page.</p>
<p class="more"><a href="/admin">To the start page</a></p>
<p><small>Request ${requestId}</small></p>`,
    ),
  }
}
