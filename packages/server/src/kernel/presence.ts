import { presenceMinutes } from '@holdfast/contract/limits'
import type { Actor } from './actor.ts'
import { fail } from './app-error.ts'
import { minute } from './time.ts'

/** Time in ms for which a one-time code or a sign-in proves that the person is present. */
const presenceMs = presenceMinutes * minute
/** Proof of presence that a change requires, as errors name it. */
export const presenceProof = {
  code: `a one-time code not older than ${presenceMinutes} minutes: send one to POST /v1/admin/auth/step-up, then repeat the request`,
  signIn: `a sign-in not older than ${presenceMinutes} minutes: sign in again, then repeat the request`,
}
/** Returns the time until which such a proof is valid. */
export const presentUntil = (shown: Date): Date => new Date(shown.getTime() + presenceMs)

/**
 * For a change that lifts a limit on a person behind the caller. A stolen credential alone must not suffice, so a
 * session must prove that its person is present: by a one-time code if they have an authenticator app, else by a recent
 * sign-in. A key can't prove it.
 *
 * @param lifted the limit that the change lifts, as the beginning of a sentence
 * @throws AppError `forbidden`, with the next step
 */
export function requirePresence({ principal }: Pick<Actor, 'principal'>, lifted: string, at: Date): void {
  if (principal.kind !== 'session')
    fail('forbidden', `${lifted}, and this rule applies to the owner of this API key: make the change in a session`)
  const shown = principal.mfa ? principal.steppedUpAt : principal.startedAt
  if (shown && presentUntil(shown) > at) return
  const proof = principal.mfa ? presenceProof.code : presenceProof.signIn
  fail('forbidden', `${lifted}, and this rule applies to you: the change needs ${proof}`)
}
