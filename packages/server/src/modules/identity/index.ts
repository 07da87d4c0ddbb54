import { createPasswordHasher, type Kek, type PasswordHasher } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import { orderOf, type Pager, prefixPattern } from '../../db/page.ts'
import { Answer } from '../../http/answer.ts'
import type { Handlers, RequestFacts } from '../../http/serve.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { AppError, fail } from '../../kernel/app-error.ts'
import { decodeId, encodeId } from '../../kernel/ids.ts'
import { isSameOrigin } from '../../kernel/same-origin.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Memory } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import type { Tenancy } from '../tenancy/index.ts'
import { createGrants } from './people/grants.ts'
import { selectGroups } from './people/groups.queries.ts'
import { createGroups } from './people/groups.ts'
import { selectUsers, type UserFilter, type UserRow } from './people/users.queries.ts'
import { createUsers, type EndSessionsOf } from './people/users.ts'
import { viewGroup, viewUser } from './people/view.ts'
import { createCookie } from './sessions/cookie.ts'
import { createSessions, type SessionPrincipal } from './sessions/sessions.ts'
import { createAttempts, type Notify } from './signin/attempts.ts'
import { credentialHandlers } from './signin/credential-handlers.ts'
import { type Caller, createLogin } from './signin/login.ts'
import { safeNext } from './signin/next-path.ts'
import { pageHeaders } from './signin/page-layout.ts'
import { homePage, loginPage } from './signin/pages.ts'
import { createPasswords } from './signin/passwords.ts'
import { countRecoveryCodes } from './signin/second-factor.queries.ts'
import { createSecondFactor } from './signin/second-factor.ts'
import { createStepUp, steppedUpUntil } from './signin/step-up.ts'
import { createTotp } from './signin/totp.ts'

export { knownGroups, userExists } from './people/directory.queries.ts'
export type { Notify } from './signin/attempts.ts'

export type IdentityDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  pager: Pager
  now: () => Date
  pepper: Uint8Array
  kek: Kek
  publicUrl: string
  tenancy: Tenancy
  settings: Tenancy['settings']
  passwords?: PasswordHasher
  /** Ids of the rules of the published policy that name this group. */
  rulesUsingGroup?: (tenant: TenantId, groupId: string) => Promise<readonly string[]>
  /** Ends the users' VPN sessions in the transaction that stops them. */
  endSessionsOf?: EndSessionsOf
  /** Tells the administrators of a tenant, in the transaction that locks an account. */
  notify?: Notify
  /** Hears of "last seen" times that could not be written yet. */
  onError?: (e: Error) => void
}

export function createIdentity(deps: IdentityDeps) {
  const { db, pager, now, publicUrl, tenancy } = deps
  const passwords = deps.passwords ?? createPasswordHasher({ concurrency: 2, maxQueue: 200 })
  const sessions = createSessions({ ...deps, onError: deps.onError ?? (() => {}) })
  const factor = createSecondFactor(deps)
  const attempts = createAttempts({ ...deps, notify: deps.notify ?? (async () => {}) })
  const users = createUsers({ ...deps, passwords, sessions, endSessionsOf: deps.endSessionsOf ?? (async () => 0) })
  const groups = createGroups({ ...deps, rulesUsingGroup: deps.rulesUsingGroup ?? (async () => []) })
  const grants = createGrants({ ...deps, users })
  const login = createLogin({ ...deps, passwords, sessions, factor, attempts })
  const tenantName = tenancy.nameOf
  const credentials = createPasswords({ ...deps, hasher: passwords, tenantName, attempts, sessions })
  const totp = createTotp({ ...deps, factor, sessions, tenantName })
  const stepUp = createStepUp({ ...deps, attempts, factor, sessions })
  const cookie = createCookie(publicUrl)
  const userView = (user: UserRow) => viewUser(user, now())

  return {
    verifySession: sessions.verify,
    createUser: users.createUser,
    createFirstAdmin: users.createFirstAdmin,
    /** For the job runner: ends every session whose time is over and records each end once. Returns how many. */
    sweepSessions: sessions.sweep,
    /** For the pipe: throws where a change needs a fresh one-time code and the caller's session has shown none. */
    requireStepUp: stepUp.require,
    /** Writes what is still in memory; at stop. */
    stop: sessions.flush,

    /** The pages of the login itself; they stand beside the contract. */
    pages: {
      headers: pageHeaders,
      login: (next: string | undefined): Buffer => loginPage({ next: safeNext(next) }),
      home: async (session: SessionPrincipal): Promise<Buffer> =>
        homePage({
          username: session.name,
          tenant: (await tenancy.nameOf(session.tenantId)) ?? '',
          roles: session.roles,
          expiresAt: session.expiresAt,
          requiredAction: session.requiredAction,
        }),
    },

    handlers: {
      ...credentialHandlers({ db, pager, now, cookie, credentials, totp, stepUp, sessions, grants }),

      login: async ({ body, request }) => {
        if (isSameOrigin(request.headers, publicUrl) === false) fail('forbidden', 'a sign-in must come from this site')
        const next = safeNext(body.next)
        try {
          const { username, password, totp = '', recovery_code: recoveryCode = '' } = body
          const given = { username, password, totp, recoveryCode }
          const { minted, expiresAt, ...who } = await login(given, callerOf(request))
          const headers = { 'set-cookie': cookie.set(minted.token) }
          if (request.isForm)
            return new Answer<never>(null, { status: 303, headers: { ...headers, location: next ?? '/admin' } })
          const user = {
            user_id: encodeId('user', who.userId),
            username: who.username,
            tenant_id: encodeId('tenant', who.tenantId),
          }
          const required_action = (await sessions.verify(minted))?.requiredAction ?? null
          return new Answer({ user, expires_at: expiresAt.toISOString(), required_action }, { headers })
        } catch (e) {
          if (request.isForm && e instanceof AppError) return failedPage(e, body.username, next)
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
        const session = principal.kind === 'session' ? principal : undefined
        const user = session && (await users.find(session.tenantId, encodeId('user', session.userId)))
        const codes = session?.mfa
          ? await db.inTenant(session.tenantId, (tx) => countRecoveryCodes(tx, session.tenantId, session.userId))
          : 0
        return {
          credential: principal.kind,
          tenant_id: encodeId('tenant', actor.tenantId),
          tenant_name: (await tenancy.nameOf(actor.tenantId)) ?? '',
          user: user
            ? { user_id: encodeId('user', user.user_id), username: user.username, display_name: user.display_name }
            : null,
          key_id: session ? null : encodeId('api_key', principal.id),
          session: session
            ? {
                session_id: encodeId('admin_session', session.id),
                expires_at: session.expiresAt.toISOString(),
                idle_seconds: session.idleSeconds,
                mfa: session.mfa,
                recovery_codes_left: codes,
                stepped_up_until: session.steppedUpAt && steppedUpUntil(session.steppedUpAt).toISOString(),
                required_action: session.requiredAction,
              }
            : null,
          roles: [...principal.roles],
          permissions: [...principal.permissions].sort(),
        }
      },

      listUsers: ({ actor, query }) =>
        db.inTenant(actor.tenantId, async (tx) => {
          const { q, status, source, role, mfa, group_id, sort = 'username', ...page } = query
          const group = group_id === undefined ? undefined : decodeId('group', group_id)
          // A malformed id is as unknown as any other, and nobody is in an unknown group.
          if (group_id !== undefined && group === undefined) return { items: [], next_cursor: null }
          const filter: UserFilter = {
            prefix: q === undefined ? undefined : prefixPattern(q),
            ...(status && { status }),
            ...(source && { source }),
            ...(role && { role }),
            ...(mfa !== undefined && { mfa }),
            ...(group && { group }),
          }
          const scope = `listUsers|${actor.tenantId}|${JSON.stringify([q, status, source, role, mfa, group])}`
          const order = orderOf(sort, { username: { column: 'username', kind: 'text' }, ...byCreation }, 'user_id')
          const found = await pager.page(selectUsers(tx, actor.tenantId, filter), page, order, scope)
          return { items: found.items.map(userView), next_cursor: found.next_cursor }
        }),
      getUser: async ({ actor, params }) => userView(await users.find(actor.tenantId, params.user_id)),
      changeUser: async ({ actor, body }) => {
        const { changed, user } = await users.change(actor, body)
        return { operation: body.operation, changed, user: userView(user) }
      },
      suspendUser: async ({ actor, body }) => {
        const { changed, user, terminated } = await users.change(actor, { ...body, operation: 'suspend' })
        return { user: userView(user), changed, sessions_terminated: terminated }
      },
      reactivateUser: async ({ actor, body }) => {
        const { changed, user } = await users.change(actor, { ...body, operation: 'reactivate' })
        return { user: userView(user), changed }
      },
      unlockUser: async ({ actor, body }) => {
        const { changed, user } = await users.change(actor, { ...body, operation: 'unlock' })
        return { user: userView(user), changed }
      },

      listGroups: ({ actor, query }) =>
        db.inTenant(actor.tenantId, async (tx) => {
          const { q, sort = 'name', ...page } = query
          const scope = `listGroups|${actor.tenantId}|${JSON.stringify([q])}`
          const order = orderOf(sort, { name: { column: 'name', kind: 'text' }, ...byCreation }, 'group_id')
          const rows = selectGroups(tx, actor.tenantId, q === undefined ? undefined : prefixPattern(q))
          const found = await pager.page(rows, page, order, scope)
          return { items: found.items.map(viewGroup), next_cursor: found.next_cursor }
        }),
      getGroup: async ({ actor, params }) => viewGroup(await groups.find(actor.tenantId, params.group_id)),
      changeGroup: async ({ actor, body }) => {
        const { changed, group } = await groups.change(actor, body)
        return { operation: body.operation, changed, group: viewGroup(group) }
      },
    } satisfies Partial<Handlers>,
  }
}
export type Identity = ReturnType<typeof createIdentity>

const byCreation = { created_at: { column: 'created_at', kind: 'time' } } as const

const callerOf = (request: RequestFacts): Caller => ({
  sourceIp: request.sourceIp,
  userAgent: request.headers['user-agent'] ?? null,
  requestId: request.requestId,
  origin: request.headers['sec-fetch-site'] ? 'console' : 'api',
})

/** What a browser shows after a failed sign-in: the form again, with one sentence. */
function failedPage(error: AppError, username: string, next: string | undefined): Answer<never> {
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
  return new Answer<never>(loginPage({ username, next, message }), { status, headers })
}
