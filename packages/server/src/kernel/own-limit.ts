import type { Actor } from './actor.ts'
import { fail } from './app-error.ts'
import { freshUntil, presenceProof } from './fresh.ts'

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
    fail('forbidden', `${lifted}, and this key stands for a person whom that binds: a session must do that`)
  const shown = principal.mfa ? principal.steppedUpAt : principal.startedAt
  if (shown && freshUntil(shown) > at) return
  const proof = principal.mfa ? presenceProof.code : presenceProof.signIn
  fail('forbidden', `${lifted}, which binds you too; it needs ${proof}`)
}
