import type { HtmlPageAnswer } from '../../../http/answer/html-page.ts'
import type { Visit } from '../../../http/pages/page.ts'
import { AppError } from '../../../kernel/app-error.ts'
import { decodeId, missing } from '../../../kernel/ids.ts'
import { storable } from '../../../kernel/text.ts'
import { second } from '../../../kernel/time.ts'
import { createCookie, escapeHtml, pageHeaders, renderPage, safeNext } from '../../identity/index.ts'
import { type Offered, pathTo, plainTenant } from '../providers/sign-in-paths.ts'
import { type OpenedSession, waitsForMs } from './opening.ts'
import type { HandOver, SamlSignIn } from './saml-sign-in.ts'
import type { SignIn } from './sign-in.ts'

/** Names no provider, since the visitor may not have asked for the page. */
const failed = 'The sign-in failed. Try again, or ask an administrator, who finds the reason in the audit log.'

/** Lifetime of the cookie: as long as a sign-in may take. */
const cookieMaxAge = `Max-Age=${waitsForMs / second}`

/**
 * Pages that send a browser to an identity provider and receive it back; none needs a script. The session's cookie is
 * Strict, so the last step starts from a page of this site. The cookie of the sign-in is Lax if the provider redirects
 * back (OpenID Connect), and None if it posts (SAML). Another site gains nothing by None: the cookie opens only the
 * request that this browser began, and only the provider has the answer to it.
 */
export function signInPages({ signIn, saml, publicUrl }: { signIn: SignIn; saml: SamlSignIn; publicUrl: string }) {
  const prefix = publicUrl.startsWith('https:') ? '__Host-' : ''
  const ways = { oidc: [`${prefix}holdfast_signin`, 'Lax'], saml: [`${prefix}holdfast_saml`, 'None'] } as const
  const sessionCookie = createCookie(publicUrl)

  const problemPage = (e: AppError): HtmlPageAnswer => ({
    status: e.code === 'rate_limited' ? 429 : 401,
    headers: {
      ...pageHeaders,
      ...(e.retryAfterSeconds !== undefined && { 'retry-after': String(e.retryAfterSeconds) }),
    },
    body: renderPage(
      'Sign-in failed',
      `<h1>Sign in</h1>
<div class="alert" role="alert">${e.code === 'rate_limited' ? `Too many sign-ins from this address. Try again in ${e.retryAfterSeconds ?? 1} seconds.` : failed}</div>
<p><a href="/admin/login">Back to the sign-in page</a></p>`,
    ),
  })
  const orProblem =
    <V extends Visit>(work: (visit: V) => Promise<HtmlPageAnswer>) =>
    async (visit: V): Promise<HtmlPageAnswer> => {
      try {
        return await work(visit)
      } catch (e) {
        if (e instanceof AppError && (e.code === 'unauthorized' || e.code === 'rate_limited')) return problemPage(e)
        throw e
      }
    }

  const begin = (way: keyof typeof ways, sender: Pick<SignIn | SamlSignIn, 'begin'>) =>
    orProblem(async ({ query, cookies, caller }: Visit) => {
      const [name, sameSite] = ways[way]
      const providerId = decodeId('identity_provider', query.get('provider') ?? '')
      const tenantName = storable(query.get('tenant') ?? plainTenant, 128)
      const next = safeNext(query.get('next') ?? undefined)
      if (providerId === undefined) return choicePage(await signIn.offeredOf(tenantName, caller), tenantName, next)
      const { url, browser } = await sender.begin({ tenantName, providerId, next, browser: cookies(name) }, caller)
      const cookie = `${name}=${browser}; Path=/; HttpOnly; Secure; SameSite=${sameSite}; ${cookieMaxAge}`
      return { status: 303, headers: { location: url, 'set-cookie': cookie }, body: Buffer.alloc(0) }
    })
  const signedIn = (way: keyof typeof ways, { token, next }: OpenedSession): HtmlPageAnswer => {
    const to = next ?? '/admin'
    const [name, sameSite] = ways[way]
    // The sign-in is finished, so its cookie is deleted.
    const over = `${name}=; Path=/; HttpOnly; Secure; SameSite=${sameSite}; Max-Age=0`
    return {
      status: 200,
      headers: { ...pageHeaders, refresh: `0; url=${to}`, 'set-cookie': [sessionCookie.set(token), over] },
      body: renderPage(
        'Signed in',
        `<h1>Signed in</h1>\n<p>If the next page does not open, <a href="${escapeHtml(to)}">continue</a>.</p>`,
      ),
    }
  }
  const providerIn = ({ params }: Visit) =>
    decodeId('identity_provider', (params.provider_id ?? '').replace(/^idp-/, 'idp_'))

  return {
    pages: {
      '/admin/login/oidc': begin('oidc', signIn),
      '/admin/login/oidc/callback/:provider_id': orProblem(async (visit: Visit) => {
        const { query, cookies, caller } = visit
        const providerId = providerIn(visit)
        return signedIn(
          'oidc',
          await signIn.finish({ providerId, answer: query, browser: cookies(ways.oidc[0]) }, caller),
        )
      }),
      '/admin/login/saml': begin('saml', saml),
      '/admin/login/saml/metadata/:provider_id': orProblem(async (visit: Visit) => {
        const { query, caller } = visit
        const tenantName = storable(query.get('tenant') ?? plainTenant, 128)
        const xml = await saml.metadata(tenantName, providerIn(visit) ?? missing('identity_provider'), caller)
        const body = Buffer.from(xml ?? missing('identity_provider'))
        return { headers: { 'content-type': 'application/samlmetadata+xml; charset=utf-8' }, body }
      }),
    },
    forms: {
      '/admin/login/saml/acs/:provider_id': orProblem(async (visit: Visit & { form: Posted }) => {
        const { form, cookies, caller } = visit
        const answer = {
          providerId: providerIn(visit),
          samlResponse: form.SAMLResponse,
          relayState: form.RelayState,
          browser: cookies(ways.saml[0]),
        }
        const done = await saml.finish(answer, caller)
        return 'handTo' in done ? handOverPage(done) : signedIn('saml', done)
      }),
    },
  }
}
type Posted = Readonly<Record<string, string>>

/**
 * Page that passes the response to a port of the person's own machine, by a click. A person who was tricked into
 * another person's enrollment can see that, and nothing listens on their machine.
 */
const handOverPage = ({ handTo, providerName, samlResponse, relayState }: HandOver): HtmlPageAnswer => ({
  headers: {
    ...pageHeaders,
    'content-security-policy': pageHeaders['content-security-policy'].replace(
      "form-action 'self'",
      `form-action ${new URL(handTo).origin}`,
    ),
  },
  body: renderPage(
    'Enroll this device',
    `<h1>Enroll this device</h1>
<p>You have signed in with ${escapeHtml(providerName)}. Are you enrolling the computer in front of you? Then continue: it waits for your sign-in at ${escapeHtml(new URL(handTo).host)}. Otherwise close this window.</p>
<form method="post" action="${escapeHtml(handTo)}">
<input type="hidden" name="SAMLResponse" value="${escapeHtml(samlResponse)}">
<input type="hidden" name="RelayState" value="${escapeHtml(relayState)}">
<button type="submit">Continue</button>
</form>`,
  ),
})

const providerLinks = (offered: readonly Offered[], tenantName: string, next: string | undefined): string =>
  offered
    .map((o) => `<a class="choice" href="${escapeHtml(pathTo(o, tenantName, next))}">${escapeHtml(o.name)}</a>`)
    .join('\n')

const choicePage = (offered: readonly Offered[], tenantName: string, next: string | undefined): HtmlPageAnswer => ({
  headers: pageHeaders,
  body: renderPage(
    'Sign in',
    offered.length === 0
      ? `<h1>Sign in</h1>\n<p>No identity provider is set up. <a href="/admin/login">Sign in with a password</a>.</p>`
      : `<h1>Sign in</h1>\n<p>Choose an identity provider.</p>\n${providerLinks(offered, tenantName, next)}`,
  ),
})
