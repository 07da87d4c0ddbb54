import { Answer } from '../../../http/answer/answer.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { IdentityDeps } from '../deps.ts'
import type { Cookie } from '../sessions/cookie.ts'
import type { AdminSessions } from '../sessions/sessions.ts'
import type { Login } from './login.ts'
import { failedPage } from './login-pages.ts'
import type { Me } from './me.ts'
import { safeNext } from './next-path.ts'
import { pageHeaders } from './page-layout.ts'
import { codePage } from './pages.ts'

/** Endpoints for sign-in, sign-out and the caller's identity. */
type Deps = { cookie: Cookie; login: Login; me: Me; sessions: AdminSessions } & Pick<
  IdentityDeps,
  'waysIn' | 'endSessionAt' | 'tenancy'
>
export function loginHandlers({ cookie, login, me, sessions, waysIn, endSessionAt, tenancy }: Deps) {
  return {
    login: async ({ body, request }) => {
      const next = safeNext(body.next)
      try {
        if (request.isSameOrigin === false)
          await login.refuseOtherSite(body.username, request.caller, request.usedOrigin)
        const { username, password, totp = '', recovery_code: recoveryCode = '' } = body
        const signsAtOnce = !request.isForm || totp !== '' || recoveryCode !== ''
        const signedIn = signsAtOnce
          ? await login.signIn({ username, password, totp, recoveryCode }, request.caller)
          : await login.begin({ username, password }, request.caller)
        if ('challenge' in signedIn) return new Answer<never>(codePage({ ...signedIn, next }), { headers: pageHeaders })
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
        if (!request.isForm) throw e
        const { body: page, ...how } = await failedPage(waysIn, e, { username: body.username, next }, request.caller)
        return new Answer<never>(page, how)
      }
    },

    logout: async ({ actor, request }) => {
      const { tenantId, providerId } = actor.principal
      // The session here ends first, independent of the provider.
      const changed = await sessions.logout(actor, actor.principal)
      const headers = { 'set-cookie': cookie.clear() }
      if (request.isForm) {
        const tenant = providerId === null ? undefined : await tenancy.nameOf(tenantId)
        const from = providerId !== null && { provider: encodeId('identity_provider', providerId) }
        const query = new URLSearchParams({ ...from, ...(tenant !== undefined && { tenant }) }).toString()
        const location = `/admin/signed-out${query && `?${query}`}`
        return new Answer<never>(null, { status: 303, headers: { ...headers, location } })
      }
      const url = providerId === null ? undefined : await endSessionAt(tenantId, providerId)
      return new Answer({ changed, end_session_url: url ?? null }, { headers })
    },

    me: ({ actor }) => me.describe(actor),
  } satisfies Partial<Handlers>
}
