/** Opens the sign-in, which comes back to the page that is shown. Drafts stay in the session storage (`use-draft.ts`). */
export function goToSignIn(): void {
  const here = window.location.pathname + window.location.search
  window.location.assign(`/admin/login?next=${encodeURIComponent(here)}`)
}
