import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { deleting } from '../../../db/retention.ts'
import type { Tables } from '../../../db/tables/index.ts'

/** False if the token was used before. */
export const spendLogoutToken = (tx: Tx, token: Selectable<Tables['logout_tokens']>): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('logout_tokens')
      .values(token)
      .onConflict((c) => c.columns(['tenant_id', 'provider_id', 'jti_digest']).doNothing())
      .returning('jti_digest'),
  )

export const pruneLogoutTokens = deleting('logout_tokens', sql`good_until < now()`)
