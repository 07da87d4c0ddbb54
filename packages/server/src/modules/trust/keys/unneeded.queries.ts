import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'

/**
 * Records a new key. The row that refers to the key removes the record. By the database's clock, as the triggers are.
 */
export const noteUnneeded = (tx: Tx, kid: string) =>
  sql`insert into unneeded_token_keys (kid, destroy_after) values (${kid}, now() + interval '1 hour')`.execute(tx)

export async function dueToDestroy(tx: Tx): Promise<string[]> {
  const due = await tx
    .selectFrom('unneeded_token_keys')
    .select('kid')
    .where('destroy_after', '<=', sql<Date>`now()`)
    .orderBy('destroy_after')
    .limit(1000)
    .execute()
  return due.map(({ kid }) => kid)
}

export const forgetDestroyed = (tx: Tx, kid: string) =>
  tx.deleteFrom('unneeded_token_keys').where('kid', '=', kid).execute()
