import type { Database } from '../../../db/database.ts'
import type { Pager } from '../../../db/page.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { type Actor, permissionsOf, type TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import type { IdentityDeps } from '../deps.ts'
import { type RunningRow, selectRunning } from './sessions.queries.ts'
import type { AdminSessions } from './sessions.ts'

export function adminSessionHandlers(deps: {
  db: Database
  pager: Pager
  now: () => Date
  sessions: AdminSessions
  tenancy: Pick<IdentityDeps['tenancy'], 'settings'>
}) {
  const { db, pager, now, sessions, tenancy } = deps

  return {
    listAdminSessions: async ({ actor, query }) => {
      const { tenantId, user } = whoseSessions(actor, query.user_id)
      const asking = actor.principal.kind === 'session' ? actor.principal.id : undefined
      const { sessions: limits, login } = await tenancy.settings(tenantId)
      return db.inTenant(tenantId, async (tx) => {
        const found = await pager.list(selectRunning(tx, tenantId, { user, sessions: limits, login, at: now() }), {
          operation: 'listAdminSessions',
          tenant: tenantId,
          query: { ...query, user_id: user },
          orders: { started_at: { column: 'started_at', kind: 'time' } },
          tie: 'session_id',
        })
        return { items: found.items.map((row) => view(row, asking)), next_cursor: found.next_cursor }
      })
    },
    endAdminSession: async ({ actor, params, body }) => {
      const changed = await sessions.end(actor, idOf('admin_session', params.session_id), body.reason)
      return { session_id: params.session_id, changed }
    },
  } satisfies Partial<Handlers>
}

/** Returns the user whose sessions a list shows: the caller unless another user is named. For a key: all users. */
function whoseSessions(actor: Actor, userId: string | undefined): { tenantId: TenantId; user: string | undefined } {
  const { principal } = actor
  const id = userId === undefined ? undefined : idOf('user', userId)
  if (principal.kind === 'session' && (id === undefined || id === principal.userId))
    return { tenantId: principal.tenantId, user: principal.userId }
  if (!permissionsOf(actor).has('credentials:read'))
    fail('forbidden', 'reading the sessions of other users needs the permission credentials:read')
  return { tenantId: actor.tenantId, user: id }
}

const view = (row: RunningRow, asking: string | undefined) => ({
  session_id: encodeId('admin_session', row.session_id),
  user_id: encodeId('user', row.user_id),
  username: row.username,
  auth_method: row.auth_method,
  source_ip: row.source_ip,
  user_agent: row.user_agent,
  current: row.session_id === asking,
  started_at: row.started_at.toISOString(),
  last_seen_at: row.last_seen_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
})
