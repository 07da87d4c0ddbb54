import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { SealedSeed } from './second-factor.queries.ts'

/**
 * Counts one attempt of this source, unless the current window is full. One statement, so that concurrent attempts on
 * any number of replicas cannot exceed the limit.
 */
export const reserveSource = async (
  tx: Tx,
  source: string,
  { max, windowSeconds, at }: { max: number; windowSeconds: number; at: Date },
): Promise<boolean> => {
  const { rows } = await sql`
    insert into login_failures as f (source, window_start, failures) values (${source}, ${at}, 1)
    on conflict (source) do update set
      failures = case when f.window_start <= ${windowStart(at, windowSeconds)} then 1 else f.failures + 1 end,
      window_start = case when f.window_start <= ${windowStart(at, windowSeconds)} then ${at} else f.window_start end
    where f.failures < ${max} or f.window_start <= ${windowStart(at, windowSeconds)}
    returning 1`.execute(tx)
  return rows.length > 0
}
const windowStart = (at: Date, windowSeconds: number) => new Date(at.getTime() - windowSeconds * 1000)

/** Takes back an attempt that was no failure. */
export const releaseSource = (tx: Tx, source: string) =>
  sql`update login_failures set failures = greatest(failures - 1, 0) where source = ${source}`.execute(tx)

/** Deletes counts of failures that are older than a day. */
export const forgetFailures = (tx: Tx) =>
  sql`delete from login_failures where window_start < clock_timestamp() - interval '1 day'`.execute(tx)

export const findFailureWindow = (tx: Tx, source: string) =>
  tx.selectFrom('login_failures').select('window_start').where('source', '=', source).executeTakeFirst()

/** Returns the window of a source that has reached the limit; undefined for any other. */
export const findFullWindow = (
  tx: Tx,
  source: string,
  { max, windowSeconds, at }: { max: number; windowSeconds: number; at: Date },
) =>
  tx
    .selectFrom('login_failures')
    .select('window_start')
    .where('source', '=', source)
    .where('failures', '>=', max)
    .where('window_start', '>', windowStart(at, windowSeconds))
    .executeTakeFirst()

export const findAccount = (tx: Tx, tenant: TenantId, username: string) =>
  tx
    .selectFrom('users')
    .select(['user_id', 'username', 'source', 'break_glass', 'password_phc', 'password_expires_at', 'locked_until'])
    // A locked user counts as suspended.
    .select(
      sql<'active' | 'suspended'>`case when user_id in (select * from locked_targets(${tenant}, 'user'))
        then 'suspended' else status end`.as('status'),
    )
    .select(
      sql<SealedSeed | null>`(select json_build_object('jwe', t.seed_jwe, 'factor', t.factor_id) from user_totp t
        where t.tenant_id = users.tenant_id and t.user_id = users.user_id and t.enrolled_at is not null)`.as('seed'),
    )
    .where('tenant_id', '=', tenant)
    .where('username_key', '=', sql<string>`lower(${username})`)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
export type LocalAccount = NonNullable<Awaited<ReturnType<typeof findAccount>>>

export type Reservation = Pick<Selectable<Tables['users']>, 'failed_logins' | 'locked_until'>
/**
 * Counts one attempt before the password is checked. The attempt that reaches the threshold locks the account in the
 * same statement. It is still checked, and unlocks the account if it is correct. Undefined for a locked or suspended
 * account.
 */
export const reserveAttempt = async (
  tx: Tx,
  tenant: TenantId,
  user: string,
  { threshold, lockSeconds, at }: { threshold: number; lockSeconds: number; at: Date },
): Promise<Reservation | undefined> => {
  const until = new Date(at.getTime() + lockSeconds * 1000)
  const { rows } = await sql<Reservation>`
    update users set
      failed_logins = case when locked_until is null then failed_logins + 1 else 1 end,
      locked_until = case when (case when locked_until is null then failed_logins + 1 else 1 end) >= ${threshold}
        then ${until}::timestamptz end
    where tenant_id = ${tenant} and user_id = ${user} and status = 'active' and deleted_at is null
      and user_id not in (select * from locked_targets(${tenant}, 'user'))
      and (locked_until is null or locked_until <= ${at})
    returning failed_logins, locked_until`.execute(tx)
  return rows[0]
}

/** Takes back an attempt, and the lock that it set. */
export const releaseAttempt = (tx: Tx, tenant: TenantId, user: string, ownLock: Date | null) =>
  sql`
    update users set
      failed_logins = greatest(failed_logins - 1, 0),
      locked_until = case when locked_until = ${ownLock}::timestamptz then null else locked_until end
    where tenant_id = ${tenant} and user_id = ${user}`.execute(tx)

/** True if the lock that an attempt set is still in force. */
export const isLockedUntil = (tx: Tx, tenant: TenantId, user: string, until: Date): Promise<boolean> =>
  affectedRow(
    tx
      .selectFrom('users')
      .select('user_id')
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', user)
      .where('locked_until', '=', until),
  )

/**
 * Admits an attempt with a correct password. Undefined if the password was changed, the user may no longer sign in, or
 * other failures have locked the account meanwhile. It uses up a temporary password.
 */
export const admit = (
  tx: Tx,
  tenant: TenantId,
  account: { user_id: string; password_phc: string },
  { ownLock, newPhc, mfa, at }: { ownLock: Date | null; newPhc: string | undefined; mfa: boolean; at: Date },
): Promise<{ break_glass: boolean } | undefined> =>
  tx
    .updateTable('users')
    .set({
      failed_logins: 0,
      locked_until: null,
      last_login_at: at,
      ...(mfa && { mfa_at: at }),
      password_expires_at: sql<Date | null>`case when password_must_change then ${at}::timestamptz end`,
      ...(newPhc !== undefined && { password_phc: newPhc }),
    })
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', account.user_id)
    .where('password_phc', '=', account.password_phc)
    .where('source', '=', 'local')
    .where('status', '=', 'active')
    .where('deleted_at', 'is', null)
    .where((eb) => eb.or([eb('password_expires_at', 'is', null), eb('password_expires_at', '>', at)]))
    .where((eb) =>
      eb.or([
        eb('locked_until', 'is', null),
        eb('locked_until', '<=', at),
        ...(ownLock ? [eb('locked_until', '=', ownLock)] : []),
      ]),
    )
    .returning('break_glass')
    .executeTakeFirst()
