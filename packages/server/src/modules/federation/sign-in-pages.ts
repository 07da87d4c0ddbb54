import type { Page, Visit } from '../../http/page.ts'
import { AppError } from '../../kernel/app-error.ts'
import { decodeId, encodeId } from '../../kernel/ids.ts'
import { storable } from '../../kernel/text.ts'
import { createCookie, escapeHtml, pageHeaders, renderPage, safeNext } from '../identity/index.ts'
import type { Offered, SignIn } from './sign-in.ts'

/** A page that somebody never asked for says nothing of providers. */
const failed = 'That sign-in did not work. Try again, or ask an administrator, who finds the reason in the audit log.'

/**
 * The way of a browser to an identity provider and back; no page here needs a script. The cookie of the way is Lax,
 * since the provider sends the browser back; the session's is Strict, so the last step starts from a page of this site.
 */
export function signInPages({ signIn, publicUrl }: { signIn: SignIn; publicUrl: string }) {
  const cookieName = publicUrl.startsWith('https:') ? '__Host-holdfast_signin' : 'holdfast_signin'
  const sessionCookie = createCookie(publicUrl)

  const problemPage = (e: AppError): Page => ({
    status: e.code === 'rate_limited' ? 429 : 401,
    headers: {
      ...pageHeaders,
      ...(e.retryAfterSeconds !== undefined && { 'retry-after': String(e.retryAfterSeconds) }),
    },
    body: renderPage(
      'Sign-in failed',
      `<h1>Sign in</h1>
<div class="alert" role="alert">${escapeHtml(e.code === 'rate_limited' ? `${e.message}; try again in ${e.retryAfterSeconds ?? 1} seconds.` : failed)}</div>
<p><a href="/admin/login">Back to the sign-in page</a></p>`,
    ),
  })
  const orProblem =
    (work: (visit: Visit) => Promise<Page>) =>
    async (visit: Visit): Promise<Page> => {
      try {
        return await work(visit)
      } catch (e) {
        if (e instanceof AppError && (e.code === 'unauthorized' || e.code === 'rate_limited')) return problemPage(e)
        throw e
      }
    }

  return {
    '/admin/login/oidc': orProblem(async ({ query, cookies, caller }) => {
      const providerId = decodeId('identity_provider', query.get('provider') ?? '')
      const tenantName = storable(query.get('tenant') ?? 'default', 128)
      const next = safeNext(query.get('next') ?? undefined)
      if (providerId === undefined) return choicePage(await signIn.offeredOf(tenantName, caller), tenantName, next)
      const { url, browser } = await signIn.begin(
        { tenantName, providerId, next, browser: cookies(cookieName) },
        caller,
      )
      const cookie = `${cookieName}=${browser}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=600`
      return { status: 303, headers: { location: url, 'set-cookie': cookie }, body: Buffer.alloc(0) }
    }),

    '/admin/login/oidc/callback/:provider_id': orProblem(async ({ params, query, cookies, caller }) => {
      const providerId = decodeId('identity_provider', params.provider_id ?? '')
      if (providerId === undefined) throw new AppError('unauthorized', failed)
      const done = await signIn.finish({ providerId, answer: query, browser: cookies(cookieName) }, caller)
      const to = done.next ?? '/admin'
      return {
        status: 200,
        headers: {
          ...pageHeaders,
          refresh: `0; url=${to}`,
          'set-cookie': sessionCookie.set(done.token),
        },
        body: renderPage(
          'Signed in',
          `<h1>Signed in</h1>\n<p><a href="${escapeHtml(to)}">Go on</a>, if this page does not by itself.</p>`,
        ),
      }
    }),
  }
}

/** Where a sign-in with this provider begins. */
export function pathTo({ provider_id }: Offered, tenantName: string, next?: string): string {
  const query = new URLSearchParams({ provider: encodeId('identity_provider', provider_id) })
  if (tenantName !== 'default') query.set('tenant', tenantName)
  if (next !== undefined) query.set('next', next)
  return `/admin/login/oidc?${query}`
}
const providerLinks = (offered: readonly Offered[], tenantName: string, next: string | undefined): string =>
  offered
    .map((o) => `<a class="choice" href="${escapeHtml(pathTo(o, tenantName, next))}">${escapeHtml(o.name)}</a>`)
    .join('\n')

const choicePage = (offered: readonly Offered[], tenantName: string, next: string | undefined): Page => ({
  headers: pageHeaders,
  body: renderPage(
    'Sign in',
    offered.length === 0
      ? `<h1>Sign in</h1>\n<p>No identity provider is set up here. <a href="/admin/login">Sign in with a password</a>.</p>`
      : `<h1>Sign in</h1>\n<p>Choose whom to sign in with.</p>\n${providerLinks(offered, tenantName, next)}`,
  ),
})
