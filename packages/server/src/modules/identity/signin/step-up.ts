import type { Database } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { presenceProof, presentUntil } from '../../../kernel/presence.ts'
import type { Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import type { AdminSessions } from '../sessions/sessions.ts'
import type { SignInAttempts } from './attempts.ts'
import { findSeed, setMfaAt } from './second-factor.queries.ts'
import type { SecondFactor } from './second-factor.ts'

/** Step-up: a recent one-time code proves that the person is present, before sensitive changes. */
export function createStepUp(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  tenancy: Pick<IdentityDeps['tenancy'], 'settings'>
  attempts: SignInAttempts
  factor: SecondFactor
  sessions: Pick<AdminSessions, 'renew'>
}) {
  const { db, audit, changes, now, tenancy, attempts, factor, sessions } = deps

  return {
    /**
     * 403 with the required action. It applies to sessions if their own tenant, or the tenant that they act in,
     * requires it.
     */
    require: async ({ principal, tenantId }: Actor): Promise<void> => {
      if (principal.kind !== 'session') return
      const proofHelp =
        (await tenancy.settings(principal.tenantId)).mfa.step_up || (await tenancy.settings(tenantId)).mfa.step_up
      if (!proofHelp) return
      if (!principal.mfa)
        fail(
          'forbidden',
          'this change needs a fresh one-time code, and your account has no authenticator app: enroll one with POST /v1/admin/users/totp/enroll and /verify, then repeat the request',
        )
      if (!principal.steppedUpAt || presentUntil(principal.steppedUpAt) <= now())
        fail('forbidden', `this change needs ${presenceProof.code}`)
    },

    stepUp: async (actor: Actor<'session'>, code: string) => {
      const session = actor.principal
      const { tenantId, userId } = session
      const source = { ...actor, tenantId }
      const seed = await db.inTenant(tenantId, (tx) => findSeed(tx, tenantId, userId))
      if (seed === undefined)
        fail('forbidden', 'your account has no authenticator app: enroll one with POST /v1/admin/users/totp/enroll')
      const user = { id: userId, username: session.name }
      const proof = await attempts.pass(source, user, () => factor.matchCode(userId, seed, code))
      if (!proof) failField('code', 'is not the current code')
      return db.inTenant(tenantId, async (tx) => {
        const at = now()
        await setMfaAt(tx, tenantId, userId, at)
        if (!(await factor.use(tx, tenantId, userId, proof)))
          failField('code', 'was already used: wait for the next code')
        const renewed = await sessions.renew(tx, source, session, { steppedUpAt: at })
        const session_id = encodeId('admin_session', renewed.id)
        const target = { type: 'admin_session', id: session_id, name: session.name }
        const user_id = encodeId('user', userId)
        await audit.record(tx, source, 'session.stepped_up', { session_id, user_id }, { target })
        await changes.record(tx, tenantId, [{ kind: 'user', subject: userId }, ...renewed.changes])
        return { renewed, until: presentUntil(at) }
      })
    },
  }
}
export type StepUp = ReturnType<typeof createStepUp>
