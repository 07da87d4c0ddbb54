import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { hasPrefix } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'

type WordHit = { kind: string; subject_id: string; place: 0 | 1; is_exact: boolean }

/**
 * Finds objects with a word that begins with a text. Reads at most `most` entries that begin a name and as many others
 * of each kind, in the order of the index. So the cost does not depend on how many names match.
 */
export const findWords = async (
  tx: Tx,
  tenant: TenantId,
  kinds: readonly string[],
  text: string,
  most: number,
): Promise<WordHit[]> => {
  const { rows } = await sql<WordHit>`
    select k.kind, w.subject_id, p.place, w.word = lower(${text}) and p.place = 0 as is_exact
    from unnest(${kinds}::text[]) as k (kind)
    cross join (values (0::smallint), (1::smallint)) as p (place)
    cross join lateral (
      select s.word, s.subject_id from search_words s
      where s.tenant_id = ${tenant} and s.kind = k.kind and s.place = p.place and ${hasPrefix('s.word', text)}
      order by s.word, s.subject_id limit ${most}) as w`.execute(tx)
  return rows
}
