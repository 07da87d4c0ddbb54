import { createHash } from 'node:crypto'
import { type Kek, seal, unseal } from '@holdfast/crypto'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { minute } from '../../../kernel/time.ts'
import type { Audit } from '../../audit/index.ts'
import type { LocalAccount } from './login.queries.ts'
import type { SecondFactor } from './second-factor.ts'
import { type Attempt, type Checked, type CheckedPassword, type Reason, whyShut } from './sign-in-steps.ts'

/** A correct password, until its code arrives or the time is over. */
export type Challenge = { tenantId: TenantId; userId: string; username: string; password: string; until: number }
/** Answer instead of a session, if the account needs a code. */
export type CodeChallenge = { username: string; challenge: string }

const withinMs = 5 * minute
const context = 'sign_in/code'
/** Digest of the stored password hash. A new password invalidates the challenge. */
const digestOf = (phc: string): string => createHash('sha256').update(phc).digest('base64url')

/**
 * Second step of a browser sign-in: the code, after the password. The challenge is not stored, opens nothing without a
 * code, and each code counts like any other attempt.
 */
export function createCodeStep(deps: { audit: Audit; now: () => Date; kek: Kek; factor: Pick<SecondFactor, 'match'> }) {
  const { audit, now, kek, factor } = deps

  return {
    /** Records in the audit log that a password was correct and came without a code. */
    ask: async ({ tenantId, by }: Attempt, account: LocalAccount, phc: string): Promise<CodeChallenge> => {
      const { user_id: userId, username } = account
      const user_id = encodeId('user', userId)
      await audit.note(by, 'login.challenged', { user_id }, { target: { type: 'user', id: user_id, name: username } })
      const until = now().getTime() + withinMs
      const challenge: Challenge = { tenantId, userId, username, password: digestOf(phc), until }
      return { username, challenge: await seal(kek, context, Buffer.from(JSON.stringify(challenge))) }
    },

    /** Undefined for a text that was not sealed here. */
    read: async (text: string): Promise<(Challenge & { isOver: boolean }) | undefined> => {
      const bytes = await unseal(kek, context, text).catch(() => undefined)
      const challengeState = bytes && (JSON.parse(bytes.toString()) as Challenge)
      return challengeState && { ...challengeState, isOver: challengeState.until <= now().getTime() }
    },

    check: async (
      { account, reservation }: Checked,
      { tenantId, given }: Attempt,
      { shown, enforcesSso }: { shown: Challenge; enforcesSso: boolean },
    ): Promise<CheckedPassword | Reason> => {
      if (!account || account.user_id !== shown.userId) return 'unknown_user'
      const shut = whyShut(account, enforcesSso)
      if (shut) return shut
      if (!reservation) return 'locked'
      const { password_phc: phc, seed } = account
      if (!phc || digestOf(phc) !== shown.password) return 'wrong_password'
      const proof = seed === null ? undefined : await factor.match(tenantId, account.user_id, seed, given)
      return proof ? { account, reservation, phc, proof } : 'wrong_second_factor'
    },
  }
}
export type CodeStep = ReturnType<typeof createCodeStep>
