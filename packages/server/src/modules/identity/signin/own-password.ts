import type { PasswordHasher } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { presenceProof, presentUntil } from '../../../kernel/presence.ts'
import type { IdentityDeps } from '../deps.ts'
import { findPassword } from '../people/passwords.queries.ts'
import type { Subject } from '../people/subject.ts'
import type { SignInAttempts } from './attempts.ts'

/**
 * Asks for the password again before a change of a user's way to sign in, since a session alone may be stolen. A wrong
 * password counts like a failed sign-in.
 */
export function createOwnPassword(deps: {
  db: Database
  now: () => Date
  hasher: PasswordHasher
  attempts: SignInAttempts
  tenancy: Pick<IdentityDeps['tenancy'], 'settings'>
}) {
  const { db, now, hasher, attempts, tenancy } = deps

  /** Null if the account has no password that opens it. */
  async function phcOf(tenant: TenantId, id: string): Promise<string | null> {
    const { enforce_sso } = (await tenancy.settings(tenant)).login
    const found = await db.inTenant(tenant, (tx) => findPassword(tx, tenant, id))
    return found && (found.break_glass || !enforce_sso) ? found.password_phc : null
  }

  return {
    /** Returns the stored hash after a correct password; null if the account has no password that opens it. */
    prove: async ({ source, tenant, id }: Subject, username: string, password: string | undefined) => {
      const phc = await phcOf(tenant, id)
      if (phc === null) return null
      if (password === undefined)
        failField('current_password', 'is required: enter the current password of your account')
      const right = await attempts.pass(source, { id, username }, async () =>
        (await hasher.verifyPassword(phc, password)) ? true : undefined,
      )
      if (!right) failField('current_password', 'is wrong')
      return phc
    },

    /** True if the account has a password to prove. */
    isThere: ({ tenant, id }: Subject): Promise<boolean> => phcOf(tenant, id).then((phc) => phc !== null),

    /** 403 for a session that does not prove that its person is present. */
    requireFresh: ({ own }: Subject): void => {
      if (own && presentUntil(own.startedAt) < now()) fail('forbidden', `this change needs ${presenceProof.signIn}`)
    },
  }
}
export type OwnPassword = ReturnType<typeof createOwnPassword>
