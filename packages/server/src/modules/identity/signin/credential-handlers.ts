import { type Role, roleNames, roles } from '@holdfast/contract/vocabulary'
import type { Database } from '../../../db/database.ts'
import { orderOf, type Pager } from '../../../db/page.ts'
import { Answer } from '../../../http/answer.ts'
import type { Handlers } from '../../../http/serve.ts'
import { type Actor, permissionsOf, type TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { decodeId, encodeId } from '../../../kernel/ids.ts'
import { selectGrants } from '../people/grants.queries.ts'
import type { Grants } from '../people/grants.ts'
import { missingUser, refuseStronger } from '../people/subject.ts'
import { findUser, type UserRow } from '../people/users.queries.ts'
import { viewFactor, viewSession, viewUser } from '../people/view.ts'
import type { Cookie } from '../sessions/cookie.ts'
import { selectRunning } from '../sessions/sessions.queries.ts'
import type { Renewed, Sessions } from '../sessions/sessions.ts'
import type { Passwords } from './passwords.ts'
import type { StepUp } from './step-up.ts'
import type { Totp } from './totp.ts'

/** Passwords, second factors, admin sessions and roles: what a user signs in with, and what it opens. */
export function credentialHandlers({
  db,
  pager,
  now,
  cookie,
  credentials,
  totp,
  stepUp,
  sessions,
  grants,
}: {
  db: Database
  pager: Pager
  now: () => Date
  cookie: Cookie
  credentials: Passwords
  totp: Totp
  stepUp: StepUp
  sessions: Sessions
  grants: Grants
}) {
  const userView = (user: UserRow) => viewUser(user, now())
  /** An answer that moves the caller's own session to its new id. */
  const answerAs = <T>(body: T, renewed: Renewed | undefined): Answer<T> | T =>
    renewed ? new Answer(body, { headers: { 'set-cookie': cookie.set(renewed.secret) } }) : body

  return {
    changePassword: async ({ actor, body }) => {
      const { user, terminated, renewed, temporary } = await credentials.change(actor, body)
      const answer = {
        user: userView(user),
        changed: true,
        sessions_terminated: terminated,
        ...(temporary && {
          temporary_password: temporary.password,
          expires_at: temporary.expiresAt.toISOString(),
        }),
      }
      return answerAs(answer, renewed)
    },
    enrollTotp: ({ actor, body }) => totp.enroll(actor, body.user_id),
    verifyTotp: async ({ actor, body }) => {
      const { codes, enrolledAt, renewed } = await totp.verify(actor, body.user_id, body.code)
      return answerAs({ mfa: viewFactor(enrolledAt), recovery_codes: codes }, renewed)
    },
    disableTotp: async ({ actor, body }) => {
      const { user, changed, terminated } = await totp.disable(actor, body.user_id, body.reason)
      return { user: userView(user), changed, sessions_terminated: terminated }
    },
    stepUp: async ({ actor, body }) => {
      const { renewed, until } = await stepUp.stepUp(actor, body.code)
      const answer = {
        session_id: encodeId('admin_session', renewed.id),
        expires_at: renewed.expiresAt.toISOString(),
        stepped_up_until: until.toISOString(),
      }
      return answerAs(answer, renewed)
    },

    listAdminSessions: async ({ actor, query }) => {
      const { user_id, sort = '-started_at', ...page } = query
      const { tenantId, user } = sessionsOf(actor, user_id)
      return db.inTenant(tenantId, async (tx) => {
        const order = orderOf(sort, { started_at: { column: 'started_at', kind: 'time' } }, 'session_id')
        const scope = `listAdminSessions|${tenantId}|${user ?? ''}`
        const found = await pager.page(selectRunning(tx, tenantId, user, now()), page, order, scope)
        const asking = actor.principal.kind === 'session' ? actor.principal.id : undefined
        return { items: found.items.map((row) => viewSession(row, asking)), next_cursor: found.next_cursor }
      })
    },
    endAdminSession: async ({ actor, params, body }) => {
      const changed = await sessions.end(actor, params.session_id, body.reason, async (tx, userId) => {
        const { principal, tenantId } = actor
        if (principal.kind === 'session' && principal.tenantId === tenantId && principal.userId === userId) return
        if (!permissionsOf(actor).has('credentials:write'))
          fail('forbidden', 'the sessions of another user need the permission credentials:write')
        refuseStronger(actor, (await findUser(tx, tenantId, userId)) ?? missingUser())
      })
      return { session_id: params.session_id, changed }
    },

    grantRole: async ({ actor, body }) => {
      const { user, changed } = await grants.grant(actor, body)
      return { user: userView(user), changed }
    },
    revokeRole: async ({ actor, body }) => {
      const { user, changed } = await grants.revoke(actor, body)
      return { user: userView(user), changed }
    },
    listRoles: async () => ({
      items: roleNames.map((role) => ({ role, permissions: [...roles[role]].sort() })),
      next_cursor: null,
    }),
    listGrants: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const { user_id, role, sort = '-granted_at', ...page } = query
        const user = user_id === undefined ? undefined : (decodeId('user', user_id) ?? nobody)
        const order = orderOf(sort, { granted_at: { column: 'granted_at', kind: 'time' } }, 'grant_id')
        const scope = `listGrants|${actor.tenantId}|${JSON.stringify([user, role])}`
        const found = await pager.page(selectGrants(tx, actor.tenantId, { user, role }), page, order, scope)
        const items = found.items.map((grant) => ({
          user_id: encodeId('user', grant.user_id),
          username: grant.username,
          role: grant.role as Role,
          granted_by: grant.granted_by,
          granted_at: grant.granted_at.toISOString(),
        }))
        return { items, next_cursor: found.next_cursor }
      }),
  } satisfies Partial<Handlers>
}

/** An id that no row has: what a malformed one means in a filter. */
const nobody = '00000000-0000-0000-0000-000000000000'

/** Whose sessions a list shows: one's own unless another user is named; to a key, everybody's. */
function sessionsOf(actor: Actor, named: string | undefined): { tenantId: TenantId; user: string | undefined } {
  const { principal } = actor
  const id = named === undefined ? undefined : (decodeId('user', named) ?? nobody)
  if (principal.kind === 'session' && (id === undefined || id === principal.userId))
    return { tenantId: principal.tenantId, user: principal.userId }
  if (!permissionsOf(actor).has('users:read'))
    fail('forbidden', 'the sessions of other users need the permission users:read')
  return { tenantId: actor.tenantId, user: id }
}
