import type { Contract, Output } from '@holdfast/contract'
import type { Database } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { presentUntil } from '../../../kernel/presence.ts'
import type { IdentityDeps } from '../deps.ts'
import { present } from '../people/subject.ts'
import { findUser } from '../people/users.queries.ts'
import type { AdminSessions } from '../sessions/sessions.ts'
import { countRecoveryCodes } from './second-factor.queries.ts'

type Person = Actor<'session' | 'api_key'>

/** Description of the caller. */
export function createMe({
  db,
  tenancy,
  sessions,
}: {
  db: Database
  tenancy: Pick<IdentityDeps['tenancy'], 'nameOf'>
  sessions: Pick<AdminSessions, 'idleExpiresAt'>
}) {
  async function read({ principal, tenantId }: Person) {
    const tenantName = (await tenancy.nameOf(tenantId)) ?? ''
    if (principal.kind !== 'session')
      return { tenantName, session: null, idleExpiresAt: null, user: null, recoveryCodes: 0, steppedUpUntil: null }
    const { tenantId: home, userId, mfa, steppedUpAt } = principal
    return db.inTenant(home, async (tx) => ({
      tenantName,
      session: principal,
      idleExpiresAt: await sessions.idleExpiresAt(tx, principal),
      user: present(await findUser(tx, home, userId)),
      recoveryCodes: mfa ? await countRecoveryCodes(tx, home, userId) : 0,
      steppedUpUntil: steppedUpAt && presentUntil(steppedUpAt),
    }))
  }
  return {
    /** Same answer for `GET /v1/admin/me` and for the console's page. */
    describe: async (actor: Person): Promise<Output<Contract['me']>> => {
      const { principal } = actor
      const { tenantName, session, idleExpiresAt, user, recoveryCodes, steppedUpUntil } = await read(actor)
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
          idle_expires_at: (idleExpiresAt ?? session.idleExpiresAt).toISOString(),
          mfa: session.mfa,
          recovery_codes_left: recoveryCodes,
          stepped_up_until: steppedUpUntil?.toISOString() ?? null,
          required_action: session.requiredAction,
        },
        roles: [...principal.roles],
        permissions: [...principal.permissions].sort(),
      }
    },
  }
}
export type Me = ReturnType<typeof createMe>
