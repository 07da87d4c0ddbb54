import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Principal, TenantId } from '../../../kernel/actor.ts'
import { second } from '../../../kernel/time.ts'
import { isRole, permissionsOfRoles } from '../../access/index.ts'
import type { findByDigest } from './sessions.queries.ts'

type SessionRow = NonNullable<Awaited<ReturnType<typeof findByDigest>>>

/** Session of a cookie, as the database has it. */
export type StoredSession = {
  principal: Principal<'session'>
  lastSeenAt: Date
  passwordOwed: boolean
  /** True for a session that ends while identity providers are the only way to sign in. */
  isOfPassword: boolean
}

/** Returns the session in the database as a principal. */
export function knownOf(tenantId: TenantId, row: SessionRow): StoredSession {
  const roles = row.roles.filter(isRole)
  const principal: Principal<'session'> = {
    kind: 'session',
    tenantId,
    id: row.session_id,
    userId: row.user_id,
    name: row.username,
    roles,
    permissions: permissionsOfRoles(roles),
    startedAt: row.started_at,
    expiresAt: row.expires_at,
    idleSeconds: row.idle_seconds,
    idleExpiresAt: new Date(row.last_seen_at.getTime() + row.idle_seconds * second),
    authMethod: row.auth_method,
    providerId: row.provider_id,
    mfa: row.mfa,
    steppedUpAt: row.stepped_up_at,
    requiredAction: null,
  }
  const passwordOwed = row.password_must_change
  const isOfPassword = row.provider_id === null && !row.break_glass
  return { principal, lastSeenAt: row.last_seen_at, passwordOwed, isOfPassword }
}

/** Returns the session with the limits of the current settings applied. */
export function bounded(
  { principal, passwordOwed }: StoredSession,
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
export const isSessionOver = (session: Principal<'session'>, lastSeenMs: number, atMs: number): boolean =>
  session.expiresAt.getTime() <= atMs || lastSeenMs + session.idleSeconds * second <= atMs

/**
 * True if a role of the user requires a second factor that is missing. An identity provider is responsible for its own
 * sign-ins.
 */
const owesFactor = ({ mfa, roles, authMethod }: Principal<'session'>, { required_roles }: SecuritySettings['mfa']) =>
  !mfa && authMethod.startsWith('password') && roles.some((role) => required_roles.includes(role))
