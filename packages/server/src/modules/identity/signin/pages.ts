import type { RequiredAction } from '@holdfast/contract/vocabulary'
import type { Page, Visit } from '../../../http/page.ts'
import type { Principal } from '../../../kernel/actor.ts'
import type { IdentityDeps } from '../deps.ts'
import { safeNext } from './next-path.ts'
import { escapeHtml, pageHeaders, renderPage } from './page-layout.ts'

/** The sign-in form. After a failure `message` says so and the name is filled in again. */
export function loginPage({
  username = '',
  next,
  message,
  offered,
}: {
  username?: string
  next?: string | undefined
  message?: string
  /** Paths of this site, where a sign-in with somebody else begins. */
  offered: readonly { path: string; name: string }[]
}) {
  const failed = message !== undefined
  const alert = failed ? `<div class="alert" role="alert" id="problem">${escapeHtml(message)}</div>` : ''
  const described = failed ? ' aria-describedby="problem"' : ''
  const focus = (wanted: boolean) => (wanted ? ' autofocus' : '')
  return renderPage(
    failed ? 'Sign-in failed' : 'Sign in',
    `<h1>Sign in</h1>
<p>Administration of this control plane.</p>
${alert}
<form method="post" action="/admin/login">
<label for="username">Username</label>
<input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="128" required value="${escapeHtml(username)}"${described}${focus(username === '')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${described}${focus(username !== '')}>
<label for="totp">One-time code <small>(if you have set up an authenticator app)</small></label>
<input id="totp" name="totp" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="16">
<details>
<summary>Use a recovery code instead</summary>
<label for="recovery_code">Recovery code</label>
<input id="recovery_code" name="recovery_code" type="text" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="64">
</details>
${next === undefined ? '' : `<input type="hidden" name="next" value="${escapeHtml(next)}">`}
<button type="submit">Sign in</button>
</form>
${offered.length === 0 ? '' : `<p class="or">or with</p>`}
${offered.map(({ path, name }) => `<a class="choice" href="${escapeHtml(withNext(path, next))}">${escapeHtml(name)}</a>`).join('\n')}`,
  )
}
const withNext = (path: string, next: string | undefined) =>
  next === undefined ? path : `${path}&${new URLSearchParams({ next })}`

const owed: Record<RequiredAction, string> = {
  change_password: 'Your password is a temporary one. Set your own before you do anything else.',
  enroll_mfa: 'Your role requires an authenticator app. Set one up before you do anything else.',
}

/** Who is signed in, and the way out. */
const homePage = (who: {
  username: string
  tenant: string
  roles: readonly string[]
  expiresAt: Date
  requiredAction: RequiredAction | null
}) =>
  renderPage(
    'Signed in',
    `<h1>Signed in</h1>
<p>You are signed in to the control plane.</p>
${who.requiredAction ? `<div class="alert" role="alert">${owed[who.requiredAction]}</div>` : ''}
<dl>
<dt>User</dt><dd>${escapeHtml(who.username)}</dd>
<dt>Tenant</dt><dd>${escapeHtml(who.tenant)}</dd>
<dt>Roles</dt><dd>${escapeHtml(who.roles.join(', ') || 'none')}</dd>
<dt>Until</dt><dd><time datetime="${who.expiresAt.toISOString()}">${who.expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC</time></dd>
</dl>
<form method="post" action="/admin/logout">
<button type="submit">Sign out</button>
</form>`,
  )

/** The pages of the login itself; they stand beside the contract. */
export const createPages = ({ tenancy, offeredProviders }: Pick<IdentityDeps, 'tenancy' | 'offeredProviders'>) => ({
  pages: {
    '/admin/login': async ({ query }: Visit): Promise<Page> => ({
      headers: pageHeaders,
      body: loginPage({ next: safeNext(query.get('next') ?? undefined), offered: await offeredProviders() }),
    }),
  },
  home: async (session: Principal<'session'>): Promise<Page> => ({
    headers: pageHeaders,
    body: homePage({
      username: session.name,
      tenant: (await tenancy.nameOf(session.tenantId)) ?? '',
      roles: session.roles,
      expiresAt: session.expiresAt,
      requiredAction: session.requiredAction,
    }),
  }),
})
