/**
 * Returns the tenant that a platform administrator has selected, from the address of the page (`?tenant=tnt_…`).
 * Undefined for everybody else: the server then uses the tenant of the session.
 */
export const selectedTenant = (): string | undefined =>
  new URLSearchParams(window.location.search).get('tenant') ?? undefined
