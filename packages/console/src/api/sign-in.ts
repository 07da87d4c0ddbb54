import { call } from './client.ts'
import { saveBeforeSignOut, storeDrafts } from './drafts.ts'

let isLeaving = false
// The browser may show this page again from its memory.
window.addEventListener('pageshow', () => {
  isLeaving = false
})

/**
 * Opens the sign-in, which returns to this page. Stores the drafts of open forms until then. Several responses may say
 * at once that nobody is signed in: the first one leaves the page.
 */
export function goToSignIn(): void {
  if (isLeaving) return
  isLeaving = true
  storeDrafts()
  const here = window.location.pathname + window.location.search
  window.location.assign(`/admin/login?next=${encodeURIComponent(here)}`)
}

/** Signs out. A session at an identity provider ends too. */
export async function signOut(): Promise<void> {
  await saveBeforeSignOut()
  const { end_session_url } = await call('POST /admin/logout', {})
  window.location.assign(end_session_url ?? '/admin/login')
}
