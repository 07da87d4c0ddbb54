import { Answer } from '../../../http/answer.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { AppError } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { IdentityDeps } from '../deps.ts'
import type { Cookie } from '../sessions/cookie.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Login } from './login.ts'
import type { Me } from './me.ts'
import { safeNext } from './next-path.ts'
import { pageHeaders } from './page-layout.ts'
import { loginPage } from './pages.ts'

/** In and out, and who is in. */
type Deps = { cookie: Cookie; login: Login; me: Me; sessions: Sessions } & Pick<IdentityDeps, 'offeredProviders'>
export function loginHandlers({ cookie, login, me, sessions, offeredProviders }: Deps) {
  return {
    login: async ({ body, request }) => {
      const next = safeNext(body.next)
      try {
        if (request.isSameOrigin === false) await login.refuseOtherSite(body.username, request.caller)
        const { username, password, totp = '', recovery_code: recoveryCode = '' } = body
        const signedIn = await login.signIn({ username, password, totp, recoveryCode }, request.caller)
        const headers = { 'set-cookie': cookie.set(signedIn.minted.token) }
        if (request.isForm)
          return new Answer<never>(null, { status: 303, headers: { ...headers, location: next ?? '/admin' } })
        const user = {
          user_id: encodeId('user', signedIn.userId),
          username: signedIn.username,
          tenant_id: encodeId('tenant', signedIn.tenantId),
        }
        const required_action = (await sessions.verify(signedIn.minted))?.requiredAction ?? null
        return new Answer({ user, expires_at: signedIn.expiresAt.toISOString(), required_action }, { headers })
      } catch (e) {
        if (request.isForm && e instanceof AppError)
          return failedPage(e, { username: body.username, next, offered: await offeredProviders() })
        throw e
      }
    },

    logout: async ({ actor, request }) => {
      const changed = await sessions.logout(actor, actor.principal)
      const headers = { 'set-cookie': cookie.clear() }
      if (request.isForm)
        return new Answer<never>(null, { status: 303, headers: { ...headers, location: '/admin/login' } })
      return new Answer({ changed }, { headers })
    },

    me: async ({ actor }) => {
      const { principal } = actor
      const { tenantName, session, user, recoveryCodes, steppedUpUntil } = await me(actor)
      return {
        credential: principal.kind,
        tenant_id: encodeId('tenant', actor.tenantId),
        tenant_name: tenantName,
        user: user && {
          user_id: encodeId('user', user.user_id),
          username: user.username,
          display_name: user.display_name,
        },
        key_id: session ? null : encodeId('api_key', principal.id),
        session: session && {
          session_id: encodeId('admin_session', session.id),
          expires_at: session.expiresAt.toISOString(),
          idle_seconds: session.idleSeconds,
          mfa: session.mfa,
          recovery_codes_left: recoveryCodes,
          stepped_up_until: steppedUpUntil?.toISOString() ?? null,
          required_action: session.requiredAction,
        },
        roles: [...principal.roles],
        permissions: [...principal.permissions].sort(),
      }
    },
  } satisfies Partial<Handlers>
}

/** What a browser shows after a failed sign-in: the form again, with one sentence. */
function failedPage(error: AppError, form: Omit<Parameters<typeof loginPage>[0], 'message'>): Answer<never> {
  const status = { unauthorized: 401, rate_limited: 429 }[error.code as string]
  if (status === undefined) throw error
  const wait = error.retryAfterSeconds ?? 1
  const message =
    status === 401
      ? 'These do not open an account. Check the username, the password and the code, if you use one, and try again.'
      : `Too many sign-ins have failed from this address. Try again in ${wait < 90 ? `${wait} s` : `${Math.ceil(wait / 60)} min`}.`
  const headers: Record<string, string> = { ...pageHeaders }
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  else headers['retry-after'] = String(wait)
  return new Answer<never>(loginPage({ ...form, message }), { status, headers })
}
