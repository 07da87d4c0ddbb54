import type { Actor } from './actor.ts'
import { fail } from './app-error.ts'
import { freshUntil } from './fresh.ts'

/**
 * For a change that lifts what binds a person whom the caller stands for: nobody does that with nothing but what may be
 * stolen. A session shows that its person is there, by a one-time code where they have an authenticator app, else by
 * having signed in a moment ago. A key shows nobody.
 *
 * @param lifted what the change lifts, as the beginning of a sentence
 * @throws AppError `forbidden`, with what to do
 */
export function requirePresence({ principal }: Pick<Actor, 'principal'>, lifted: string, at: Date): void {
  if (principal.kind !== 'session')
    fail('forbidden', `${lifted}, and this key stands for a person whom that binds: a session must do that`)
  const shown = principal.mfa ? principal.steppedUpAt : principal.startedAt
  if (shown && freshUntil(shown) > at) return
  const proof = principal.mfa
    ? 'a one-time code not older than 5 minutes: send one to POST /v1/admin/auth/step-up, then repeat it'
    : 'a sign-in not older than 5 minutes: sign in again, then repeat it'
  fail('forbidden', `${lifted}, which binds you too; it needs ${proof}`)
}
