import type { Database } from '../../../db/database.ts'
import type { Source } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps, NotifyAdministrators } from '../deps.ts'
import * as queries from './login.queries.ts'

/** Counts the failures of all password and code checks together. Too many lock the account. */
export function createSignInAttempts({
  db,
  audit,
  now,
  tenancy,
  notify,
}: {
  db: Database
  audit: Audit
  now: () => Date
  tenancy: Pick<IdentityDeps['tenancy'], 'settings'>
  notify: NotifyAdministrators
}) {
  /**
   * Reports the lock, for the attempt that reached the threshold, unless a correct password has unlocked the account
   * meanwhile.
   */
  async function reportLock(
    by: Source,
    user: { id: string; username: string },
    { locked_until, failed_logins }: queries.Reservation,
  ): Promise<void> {
    if (!locked_until) return
    const { tenantId } = by
    const { username } = user
    await db.inTenant(tenantId, async (tx) => {
      if (!(await queries.isLockedUntil(tx, tenantId, user.id, locked_until))) return
      const target = { type: 'user', id: encodeId('user', user.id), name: username } as const
      await audit.record(tx, by, 'account.locked', { username, attempt_count: failed_logins }, { target })
      await notify(tx, tenantId, {
        kind: 'account.locked',
        severity: 'warning',
        title: `The account ${username} is locked`,
        detail: `${failed_logins} sign-ins failed in a row, the last from ${by.sourceIp ?? 'an unknown address'}. The lock ends at ${locked_until.toISOString()}, or when an administrator unlocks the account.`,
        subject: target,
        // Repeated locks of an account give one notification until it is acknowledged.
        dedupe_key: `account.locked:${target.id}`,
      })
    })
  }

  return {
    reportLock,

    /**
     * Repeats a check for a signed-in user. An undefined result is wrong and counts like a failed sign-in. 403 while
     * the account is locked.
     */
    pass: async <T>(
      by: Source,
      user: { id: string; username: string },
      check: () => Promise<T | undefined>,
    ): Promise<T | undefined> => {
      const { tenantId } = by
      const limits = (await tenancy.settings(tenantId)).login
      const at = now()
      const bound = { threshold: limits.lockout_threshold, lockSeconds: limits.lockout_seconds, at }
      const reserved = await db.inTenant(tenantId, (tx) => queries.reserveAttempt(tx, tenantId, user.id, bound))
      if (!reserved)
        fail('forbidden', 'this account is locked after failed sign-ins: wait, or ask an administrator to unlock it')
      const giveBack = () =>
        db.inTenant(tenantId, (tx) => queries.releaseAttempt(tx, tenantId, user.id, reserved.locked_until))
      let proof: T | undefined
      try {
        proof = await check()
      } catch (e) {
        await giveBack()
        throw e
      }
      if (proof === undefined) await reportLock(by, user, reserved)
      else await giveBack()
      return proof
    },
  }
}
export type SignInAttempts = ReturnType<typeof createSignInAttempts>
