import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { isNotHeld } from '../../../db/kept.ts'
import { purging } from '../../../db/retention.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export const insertSession = (tx: Tx, session: Omit<Selectable<Tables['admin_sessions']>, 'ended_at' | 'end_reason'>) =>
  tx.insertInto('admin_sessions').values(session).execute()

/** Selects the sessions that have not ended and whose user may still sign in and is not locked. */
const selectAdmitted = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('admin_sessions')
    .innerJoin('users', (j) =>
      j.onRef('users.tenant_id', '=', 'admin_sessions.tenant_id').onRef('users.user_id', '=', 'admin_sessions.user_id'),
    )
    .where('admin_sessions.tenant_id', '=', tenant)
    .where('admin_sessions.ended_at', 'is', null)
    .where('users.status', '=', 'active')
    .where('users.deleted_at', 'is', null)
    .where(sql<boolean>`users.user_id not in (select * from locked_targets(${tenant}, 'user'))`)

export const findByDigest = (tx: Tx, tenant: TenantId, digests: readonly Buffer[]) =>
  selectAdmitted(tx, tenant)
    .select([
      'admin_sessions.session_id',
      'admin_sessions.user_id',
      'admin_sessions.started_at',
      'admin_sessions.last_seen_at',
      'admin_sessions.idle_seconds',
      'admin_sessions.expires_at',
      'admin_sessions.auth_method',
      'admin_sessions.stepped_up_at',
      'users.username',
      'users.password_must_change',
      'users.break_glass',
      'admin_sessions.provider_id',
      sql<boolean>`exists (select from user_totp t where t.tenant_id = ${tenant}
        and t.user_id = users.user_id and t.enrolled_at is not null)`.as('mfa'),
      sql<string[]>`array(select r.role from user_roles r
        where r.tenant_id = ${tenant} and r.user_id = users.user_id order by r.role)`.as('roles'),
    ])
    .where('admin_sessions.secret_digest', 'in', digests)
    .executeTakeFirst()

/** True if a lock prevents the user from opening sessions. */
export const isUserLocked = async (tx: Tx, tenant: TenantId, user: string): Promise<boolean> => {
  const { rows } = await sql<{ locked: boolean }>`
    select ${user}::uuid in (select * from locked_targets(${tenant}, 'user')) as locked`.execute(tx)
  return rows[0]?.locked ?? false
}

/** Null if the session has ended meanwhile. */
export const findLastSeen = async (tx: Tx, tenant: TenantId, id: string): Promise<Date | null> => {
  const row = await tx
    .selectFrom('admin_sessions')
    .select('last_seen_at')
    .where('tenant_id', '=', tenant)
    .where('session_id', '=', id)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return row?.last_seen_at ?? null
}

export type EndedAdminSession = { session_id: string; user_id: string; username: string }
/**
 * Ends running sessions and returns their users. Rows are locked in the order of their ids, as in every end of several
 * sessions.
 */
const endWhere = async (
  tx: Tx,
  tenant: TenantId,
  where: ReturnType<typeof sql>,
  reason: 'manual' | 'timeout',
  at: Date,
): Promise<EndedAdminSession[]> => {
  const { rows } = await sql<EndedAdminSession>`
    with locked as (
      select session_id from admin_sessions
      where tenant_id = ${tenant} and ended_at is null and ${where}
      order by session_id for no key update)
    update admin_sessions s set ended_at = ${at}, end_reason = ${reason}
    from locked, users u
    where s.tenant_id = ${tenant} and s.session_id = locked.session_id and s.ended_at is null
      and u.tenant_id = ${tenant} and u.user_id = s.user_id
    returning s.session_id, s.user_id, u.username`.execute(tx)
  return rows
}

type Limits = { idle_seconds: number; absolute_seconds: number }
/** True for a session that exceeds its own limits or those of the settings. `isSessionOver` decides the same. */
const isOverdue = ({ idle_seconds, absolute_seconds }: Limits, at: Date) => sql<boolean>`(
  admin_sessions.expires_at <= ${at}
  or admin_sessions.started_at + make_interval(secs => ${absolute_seconds}) <= ${at}
  or admin_sessions.last_seen_at + make_interval(secs => least(admin_sessions.idle_seconds, ${idle_seconds})) <= ${at})`

/**
 * Ends sessions of this tenant (or one of them) that exceed their idle or absolute time. Each is returned to one
 * caller.
 */
export const endOverdue = (
  tx: Tx,
  tenant: TenantId,
  limits: Limits,
  at: Date,
  only: string | null,
): Promise<EndedAdminSession[]> =>
  endWhere(
    tx,
    tenant,
    sql`(${only}::uuid is null or session_id = ${only}::uuid) and ${isOverdue(limits, at)}`,
    'timeout',
    at,
  )

export const endOne = (tx: Tx, tenant: TenantId, id: string, at: Date): Promise<EndedAdminSession[]> =>
  endWhere(tx, tenant, sql`session_id = ${id}`, 'manual', at)

/** Ends all sessions of a user except `kept`. */
export const endOfUser = (
  tx: Tx,
  tenant: TenantId,
  user: string,
  at: Date,
  keptSessionId: string | null,
): Promise<EndedAdminSession[]> =>
  endWhere(tx, tenant, sql`user_id = ${user} and session_id is distinct from ${keptSessionId}::uuid`, 'manual', at)

/** Selects sessions of users, of an account at the provider, or of a session at the provider. Null matches any. */
export type Which = { users: readonly string[] | null; subject: string | null; sid: string | null }
/** Ends sessions that an identity provider opened. */
export const endOfProvider = (
  tx: Tx,
  tenant: TenantId,
  provider: string,
  { users, subject, sid }: Which,
  at: Date,
): Promise<EndedAdminSession[]> =>
  endWhere(
    tx,
    tenant,
    sql`provider_id = ${provider} and (${users}::uuid[] is null or user_id = any(${users}::uuid[]))
      and (${subject}::text is null or provider_subject = ${subject})
      and (${sid}::text is null or provider_sid = ${sid})`,
    'manual',
    at,
  )

/** Ends the sessions that a password alone opened, of one user or of all but break-glass users. */
export const endPasswordSessions = (
  tx: Tx,
  tenant: TenantId,
  user: string | null,
  at: Date,
): Promise<EndedAdminSession[]> =>
  endWhere(
    tx,
    tenant,
    sql`provider_id is null and (${user}::uuid is null or user_id = ${user}::uuid)
      and user_id not in (select b.user_id from users b where b.tenant_id = ${tenant} and b.break_glass)`,
    'manual',
    at,
  )

/** Ends all sessions of these users. */
export const endSessionsOfUsers = (
  tx: Tx,
  tenant: TenantId,
  users: readonly string[],
  at: Date,
): Promise<EndedAdminSession[]> => endWhere(tx, tenant, sql`user_id = any(${users}::uuid[])`, 'manual', at)

/**
 * Replaces a session by one with a new id and secret: the old row ends, and the new one keeps start and expiry.
 * Undefined if the old one has already ended.
 */
export const replaceSession = async (
  tx: Tx,
  tenant: TenantId,
  id: string,
  next: {
    session_id: string
    secret_digest: Buffer
    secret_digest_version: number
    auth_method: string
    stepped_up_at: Date | null
    at: Date
  },
): Promise<{ expires_at: Date } | undefined> => {
  const { at, ...fresh } = next
  const old = await tx
    .updateTable('admin_sessions')
    .set({ ended_at: at, end_reason: 'manual' })
    .where('tenant_id', '=', tenant)
    .where('session_id', '=', id)
    .where('ended_at', 'is', null)
    .returning(['user_id', 'source_ip', 'user_agent', 'started_at', 'idle_seconds', 'expires_at'])
    .returning(['provider_id', 'provider_subject', 'provider_sid'])
    .executeTakeFirst()
  if (!old) return undefined
  await insertSession(tx, { ...old, ...fresh, tenant_id: tenant, last_seen_at: at })
  return { expires_at: old.expires_at }
}

type Login = { enforce_sso: boolean }
/** Selects the sessions that authentication admits under these settings. */
export const selectRunning = (
  tx: Tx,
  tenant: TenantId,
  { user, sessions: limits, login, at }: { user: string | undefined; sessions: Limits; login: Login; at: Date },
) => {
  let q = selectAdmitted(tx, tenant)
    .select(['session_id', 'admin_sessions.user_id', 'users.username', 'auth_method', 'source_ip', 'user_agent'])
    .select([
      'started_at',
      'last_seen_at',
      sql<Date>`least(expires_at, started_at + make_interval(secs => ${limits.absolute_seconds}))`.as('expires_at'),
    ])
    .where(sql<boolean>`not ${isOverdue(limits, at)}`)
  if (login.enforce_sso) q = q.where(sql<boolean>`(provider_id is not null or users.break_glass)`)
  if (user !== undefined) q = q.where('admin_sessions.user_id', '=', user)
  return q
}
export type RunningRow = Awaited<ReturnType<ReturnType<typeof selectRunning>['execute']>>[number]

/** Returns the user of a session and its end. */
export const findSessionOwner = (tx: Tx, tenant: TenantId, id: string) =>
  tx
    .selectFrom('admin_sessions')
    .select(['user_id', 'ended_at'])
    .where('tenant_id', '=', tenant)
    .where('session_id', '=', id)
    .executeTakeFirst()

/** Selects across tenants those with running sessions. */
export const tenantsWithSessions = async (tx: Tx): Promise<TenantId[]> => {
  const rows = await tx
    .selectFrom('admin_sessions')
    .select('tenant_id')
    .distinct()
    .where('ended_at', 'is', null)
    .execute()
  return rows.map((r) => r.tenant_id)
}

/** Stores across tenants the last use of sessions, in one statement. */
export const writeLastSeen = (tx: Tx, seen: { tenant_id: string; session_id: string; at: Date }[]) =>
  sql`
    update admin_sessions s set last_seen_at = greatest(s.last_seen_at, w.at)
    from unnest(${seen.map((x) => x.tenant_id)}::uuid[], ${seen.map((x) => x.session_id)}::uuid[],
      ${seen.map((x) => x.at.toISOString())}::timestamptz[]) as w (tenant_id, session_id, at)
    where s.tenant_id = w.tenant_id and s.session_id = w.session_id and s.ended_at is null`.execute(tx)

export const pruneSessions = purging(
  'admin_sessions',
  'admin_sessions',
  (before) => sql`ended_at < ${before} and ${isNotHeld('admin_sessions', { user: 'user_id' })}`,
)
