import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Principal } from '../../../kernel/actor.ts'
import { second } from '../../../kernel/time.ts'

/** What a cookie stands for, as the database has it. */
export type Known = {
  principal: Principal<'session'>
  lastSeenAt: Date
  passwordOwed: boolean
  /** Ends where identity providers are the only way in. */
  isOfPassword: boolean
}

/** The session as today's settings bind it. */
export function bounded(
  { principal, passwordOwed }: Known,
  { sessions: limits, mfa }: SecuritySettings,
): Principal<'session'> {
  const end = Math.min(principal.expiresAt.getTime(), principal.startedAt.getTime() + limits.absolute_seconds * second)
  return {
    ...principal,
    idleSeconds: Math.min(principal.idleSeconds, limits.idle_seconds),
    expiresAt: new Date(end),
    requiredAction: passwordOwed ? 'change_password' : owesFactor(principal, mfa) ? 'enroll_mfa' : null,
  }
}
export const isOver = (session: Principal<'session'>, lastSeenMs: number, atMs: number): boolean =>
  session.expiresAt.getTime() <= atMs || lastSeenMs + session.idleSeconds * second <= atMs

/** Whether a role of the user requires a second factor that is not there. An identity provider sees to its own. */
const owesFactor = ({ mfa, roles, authMethod }: Principal<'session'>, { required_roles }: SecuritySettings['mfa']) =>
  !mfa && authMethod.startsWith('password') && roles.some((role) => required_roles.includes(role))
