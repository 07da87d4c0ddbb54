import { sql } from 'kysely'
import { databaseLocks } from '../../../db/advisory-locks.ts'
import type { Tx } from '../../../db/database.ts'
import type { StoredClaims } from '../../../db/tables/tenancy.ts'

/** Returns the license in force; undefined is the community license. It belongs to no tenant. */
export const findLicense = async (tx: Tx) => {
  const { rows } = await sql<{
    token: string | null
    claims: StoredClaims | null
    loaded_at: Date | null
    problem: string | null
    problem_at: Date | null
    seen_at: Date
  }>`
    select l.token, l.claims, l.loaded_at, l.problem, l.problem_at, d.seen_at
    from licenses l cross join deployment d where l.singleton`.execute(tx)
  return rows[0]
}

export const findDeployment = (tx: Tx) =>
  tx
    .selectFrom('deployment')
    .select(['deployment_id', 'seen_at'])
    .where('singleton', '=', true)
    .executeTakeFirstOrThrow()

/** Serializes changes of the license until commit. */
export const holdLicense = (tx: Tx) => sql`select pg_advisory_xact_lock(${sql.lit(databaseLocks.license)})`.execute(tx)

type Good = { token: string; claims: StoredClaims; issuedAt: Date; endsAt: Date }
export const putLicense = (tx: Tx, { token, claims, issuedAt, endsAt }: Good, at: Date) => {
  const row = {
    token,
    claims: JSON.stringify(claims),
    issued_at: issuedAt,
    ends_at: endsAt,
    loaded_at: at,
    problem: null,
    problem_at: null,
  }
  return tx
    .insertInto('licenses')
    .values({ singleton: true, ...row })
    .onConflict((c) => c.column('singleton').doUpdateSet(row))
    .execute()
}
/**
 * Stores the problem of the last file read, and keeps the current license. If there is none, a license is required from
 * now on.
 */
export const putProblem = (tx: Tx, problem: string, at: Date) =>
  tx
    .insertInto('licenses')
    .values({ singleton: true, problem, problem_at: at })
    .onConflict((c) => c.column('singleton').doUpdateSet({ problem, problem_at: at }))
    .execute()
export const clearProblem = (tx: Tx) =>
  tx
    .updateTable('licenses')
    .set({ problem: null, problem_at: null })
    .where('singleton', '=', true)
    .where('token', 'is not', null)
    .execute()
export const deleteLicense = (tx: Tx) => tx.deleteFrom('licenses').where('singleton', '=', true).execute()

/**
 * Advances the recorded time: never backwards, and by at most an hour a minute. A clock that was far ahead for a while
 * must not end a valid license.
 */
export const noteTime = (tx: Tx, at: Date) =>
  sql`
    update deployment set seen_at = greatest(seen_at, least(${at}::timestamptz, seen_at + interval '1 hour'))
    where singleton = ${true}`.execute(tx)
