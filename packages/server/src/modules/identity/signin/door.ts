/** Public API for sign-in by an identity provider. */
export { createCookie } from '../sessions/cookie.ts'
export type { ByProvider } from './by-provider.ts'
export { safeNext } from './next-path.ts'
export { escapeHtml, pageHeaders, renderPage } from './page-layout.ts'
export type { SourceFailures } from './source-failures.ts'
