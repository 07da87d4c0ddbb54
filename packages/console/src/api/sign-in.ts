import { call } from './client.ts'
import { storeDrafts } from './drafts.ts'

/** Opens the sign-in, which leads back to this page. The drafts of open forms are kept until then. */
export function goToSignIn(): void {
  storeDrafts()
  const here = window.location.pathname + window.location.search
  window.location.assign(`/admin/login?next=${encodeURIComponent(here)}`)
}

/** Signs out. A session of an identity provider ends there too. */
export async function signOut(): Promise<void> {
  const { end_session_url } = await call('POST /admin/logout', {})
  window.location.assign(end_session_url ?? '/admin/login')
}
