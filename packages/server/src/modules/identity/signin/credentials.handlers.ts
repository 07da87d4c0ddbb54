import { toBase32 } from '@holdfast/crypto'
import { Answer } from '../../../http/answer/answer.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { viewFactor, viewUser } from '../people/view.ts'
import type { Cookie } from '../sessions/cookie.ts'
import type { Renewed } from '../sessions/sessions.ts'
import type { Passwords } from './passwords.ts'
import type { StepUp } from './step-up.ts'
import type { Totp } from './totp.ts'

/** Endpoints for passwords and second factors. */
export function credentialHandlers(deps: {
  now: () => Date
  cookie: Cookie
  passwords: Passwords
  totp: Totp
  stepUp: StepUp
}) {
  const { now, cookie, passwords, totp, stepUp } = deps
  const named = (user_id: string | undefined) => (user_id === undefined ? undefined : idOf('user', user_id))
  /** Answers with the cookie of the renewed session, if there is one. */
  const answerAs = <T>(body: T, renewed: Renewed | undefined): Answer<T> | T =>
    renewed ? new Answer(body, { headers: { 'set-cookie': cookie.set(renewed.secret) } }) : body

  return {
    changePassword: async ({ actor, body: { user_id, ...request } }) => {
      const user = named(user_id)
      const { temporary, renewed, ...done } = await passwords.change(actor, { ...request, ...(user && { user }) })
      const answer = {
        user: viewUser(done.user, now()),
        changed: true,
        sessions_terminated: done.terminated,
        api_keys_revoked: done.keysRevoked,
        warnings: done.warnings,
        ...(temporary && {
          secret: temporary.password,
          expires_at: temporary.expiresAt.toISOString(),
        }),
      }
      return answerAs(answer, renewed)
    },
    enrollTotp: async ({ actor, body }) => {
      const { uri, seed, expiresAt } = await totp.enroll(actor, named(body.user_id), body.current_password)
      return { provisioning_uri: uri, secret: toBase32(seed), expires_at: expiresAt.toISOString() }
    },
    verifyTotp: async ({ actor, body }) => {
      const { codes, enrolledAt, renewed } = await totp.verify(actor, named(body.user_id), body.code)
      return answerAs({ mfa: viewFactor(enrolledAt), recovery_codes: codes }, renewed)
    },
    disableTotp: async ({ actor, body: { user_id, reason, ...shown } }) => {
      const { user, changed, terminated } = await totp.disable(actor, idOf('user', user_id), shown, reason)
      return { user: viewUser(user, now()), changed, sessions_terminated: terminated }
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
  } satisfies Partial<Handlers>
}
