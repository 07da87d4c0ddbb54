import { isAway } from '../../../db/unavailable.ts'
import type { HtmlPage, HtmlPageAnswer } from '../../../http/answer/html-page.ts'
import type { Pages, ProblemPage, SignedInPage, Visit } from '../../../http/pages/page.ts'
import { storable } from '../../../kernel/text.ts'
import type { IdentityDeps } from '../deps.ts'
import { requiredActionPage } from './console-page.ts'
import { safeNext } from './next-path.ts'
import { alertOf, escapeHtml, field, hiddenNext, pageHeaders, renderPage, sentenceOf } from './page-layout.ts'

export const tenantOfPlainSignIn = 'default'
/**
 * Form of the password. If identity providers are the only way to sign in, it is shown only on request, for break-glass
 * users.
 */
type Passwords = 'shown' | 'hidden' | 'break_glass'
type Form = {
  tenantName: string
  username?: string
  next: string | undefined
  message?: string
  /** Paths of this site where a sign-in with an identity provider begins. */
  offered: readonly { path: string; name: string }[]
  passwords: Passwords
}
const withQuery = (path: string, query: Readonly<Record<string, string | undefined>>) => {
  const queryPairs = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return queryPairs.length === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(queryPairs)}`
}

/** First page of a sign-in. After a failure it shows `message`, with the username filled in. */
export function loginPage({ tenantName, username, next, message, offered, passwords }: Form): HtmlPage {
  const isOther = tenantName !== tenantOfPlainSignIn
  const name = username ?? (isOther ? `${tenantName}/` : '')
  const wrong = message === undefined ? undefined : []
  const query = { tenant: isOther ? tenantName : undefined, next }
  const hidden = hiddenNext(next)
  const links = offered
    .map((o) => `<a class="choice" href="${escapeHtml(withQuery(o.path, { next }))}">${escapeHtml(o.name)}</a>`)
    .join('\n')
  const form = `<form method="post" action="/admin/login">
${field({ name: 'username', label: 'Username', type: 'text', autocomplete: 'username', maxlength: 320, value: name, wrong, focus: username === undefined })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', maxlength: 1024, wrong, focus: username !== undefined })}
${hidden}<button type="submit">Sign in</button>
</form>`
  const about = {
    shown: 'Sign in to administer this control plane.',
    hidden: offered.length > 0 ? 'Choose an identity provider.' : 'No identity provider is available now.',
    break_glass:
      'Only break-glass users sign in with a password here. Administrators are notified of each such sign-in.',
  }[passwords]
  return renderPage(
    message === undefined ? 'Sign in' : 'Sign-in failed',
    `<h1>${passwords === 'break_glass' ? 'Break-glass sign-in' : 'Sign in'}</h1>
<p>${isOther ? `Tenant <strong>${escapeHtml(tenantName)}</strong>. ` : ''}${about}</p>
${alertOf(message)}
${passwords === 'hidden' ? '' : form}
${passwords === 'shown' && offered.length > 0 ? '<p class="or">or with</p>' : ''}
${passwords === 'break_glass' ? '' : links}
${passwords === 'hidden' ? `<p class="more"><a href="${escapeHtml(withQuery('/admin/login', { ...query, with: 'password' }))}">Break-glass sign-in</a></p>` : ''}
${passwords === 'break_glass' ? `<p class="more"><a href="${escapeHtml(withQuery('/admin/login', query))}">Back</a></p>` : otherTenant(hidden)}`,
  )
}
const otherTenant = (hidden: string) => `<details class="more">
<summary>Sign in to another tenant</summary>
<form method="get" action="/admin/login">
${field({ name: 'tenant', label: 'Tenant', type: 'text', autocomplete: 'organization', maxlength: 128 })}
${hidden}<button class="plain" type="submit">Continue</button>
</form>
</details>`

/** Page after a correct password, for an account with a second factor. */
export const codePage = ({
  username,
  challenge,
  next,
  message,
}: {
  username: string
  challenge: string
  next: string | undefined
  message?: string
}): HtmlPage => {
  const wrong = message === undefined ? undefined : []
  return renderPage(
    message === undefined ? 'One-time code' : 'Sign-in failed',
    `<h1>One-time code</h1>
<p>You sign in as <strong>${escapeHtml(username)}</strong>. Enter the code that your authenticator app shows.</p>
${alertOf(message)}
<form method="post" action="/admin/login/code">
${field({ name: 'totp', label: 'Code from the app', type: 'text', inputmode: 'numeric', autocomplete: 'one-time-code', maxlength: 32, optional: true, wrong, focus: true })}
<details>
<summary>Use a recovery code instead</summary>
${field({ name: 'recovery_code', label: 'Recovery code', type: 'text', autocomplete: 'off', maxlength: 64, optional: true, wrong })}
</details>
<input type="hidden" name="challenge" value="${escapeHtml(challenge)}">
${hiddenNext(next)}<button type="submit">Sign in</button>
</form>
<p class="more"><a href="${escapeHtml(withQuery('/admin/login', { next }))}">Start again</a></p>`,
  )
}

/**
 * Start page if the web console was not built: the signed-in user, links to the password and factor pages, and
 * sign-out.
 */
export const homePage = ({ tenancy }: Pick<IdentityDeps, 'tenancy'>): SignedInPage => ({
  get: async (visit) => {
    const { principal } = visit.actor
    const actionPage = requiredActionPage(visit)
    if (actionPage) return actionPage
    const until = principal.expiresAt.toISOString()
    const links = [
      ...(principal.authMethod.startsWith('password') ? ['<a href="/admin/password">Change the password</a>'] : []),
      ...(principal.mfa ? [] : ['<a href="/admin/second-factor">Set up an authenticator app</a>']),
    ]
    return {
      headers: pageHeaders,
      body: renderPage(
        'Signed in',
        `<h1>Signed in</h1>
<p>You are signed in to the control plane.</p>
<div class="note">The web console was not built on this server. The output of <code>npm start</code> shows the reason. The API and the command line work.</div>
<dl>
<dt>User</dt><dd>${escapeHtml(principal.name)}</dd>
<dt>Tenant</dt><dd>${escapeHtml((await tenancy.nameOf(principal.tenantId)) ?? '')}</dd>
<dt>Roles</dt><dd>${escapeHtml(principal.roles.join(', ') || 'none')}</dd>
<dt>Until</dt><dd><time datetime="${until}">${until.slice(0, 16).replace('T', ' ')} UTC</time></dd>
</dl>
${links.length === 0 ? '' : `<div class="links">${links.join('')}</div>`}
<form method="post" action="/admin/logout">
<button type="submit">Sign out</button>
</form>`,
      ),
    }
  },
})

const awayText = 'The server cannot reach its database, so no user can sign in now. Try again in a moment.'

/** Page for an error, without internal details. */
export const problemPage: ProblemPage = ({ code, message, retryAfterSeconds }, requestId) => {
  const isOurs = code === 'internal_error'
  const sentence = isOurs ? 'The server had an internal error. Try again in a moment.' : sentenceOf(message)
  return {
    headers: pageHeaders,
    body: renderPage(
      'Something went wrong',
      `<h1>Something went wrong</h1>
${alertOf(isOurs && retryAfterSeconds !== undefined ? awayText : sentence)}
<p><small>Request ${escapeHtml(requestId)}</small></p>
<p class="more"><a href="/admin/login">To the sign-in page</a></p>`,
    ),
  }
}

/**
 * Returns the ways to sign in to the tenant that a visitor names. An unknown tenant looks like one without providers.
 */
export async function formOf(
  waysIn: IdentityDeps['waysIn'],
  tenantName: string,
  caller: Visit['caller'],
  wantsPassword: boolean,
): Promise<Pick<Form, 'tenantName' | 'offered' | 'passwords'>> {
  const { offered, isOnlyWay } = await waysIn(tenantName, caller)
  return { tenantName, offered, passwords: !isOnlyWay ? 'shown' : wantsPassword ? 'break_glass' : 'hidden' }
}

/** Pages of the login; they are not part of the API contract. */
export const loginPages = ({ waysIn }: Pick<IdentityDeps, 'waysIn'>): Pages => ({
  '/admin/login': async ({ query, caller }): Promise<HtmlPageAnswer> => {
    const tenantName = storable(query.get('tenant')?.trim() || tenantOfPlainSignIn, 128)
    const next = safeNext(query.get('next') ?? undefined)
    try {
      const form = await formOf(waysIn, tenantName, caller, query.get('with') === 'password')
      return { headers: pageHeaders, body: loginPage({ ...form, next }) }
    } catch (e) {
      if (!isAway(e)) throw e
      return unavailablePage(next)
    }
  },
})

export const unavailablePage = (next: string | undefined) => ({
  status: 500,
  headers: { ...pageHeaders, 'retry-after': '2' },
  body: renderPage(
    'Sign in',
    `<h1>Sign in</h1>
${alertOf(awayText)}
<a class="choice" href="${escapeHtml(withQuery('/admin/login', { next }))}">Try again</a>`,
  ),
})
