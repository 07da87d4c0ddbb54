import { call } from './client.ts'

/** Opens the sign-in, which comes back to the page that is shown. Drafts stay in the session storage (`use-draft.ts`). */
export function goToSignIn(): void {
  const here = window.location.pathname + window.location.search
  window.location.assign(`/admin/login?next=${encodeURIComponent(here)}`)
}

/** Signs out, and goes on to the identity provider where the session came from one. */
export async function signOut(): Promise<void> {
  const { end_session_url } = await call('POST /admin/logout', {})
  window.location.assign(end_session_url ?? '/admin/login')
}
