import { joinDetail, type StoredSource } from '../../db/search.ts'
import { tokenStatusOf } from './tokens.handlers.ts'
import { findTokens } from './tokens.queries.ts'

/** Enrollment tokens in search results, found by name or hint. */
export const createTokenHits = ({ now }: { now: () => Date }): StoredSource => ({
  kind: 'enrollment_token',
  noun: 'enrollment_token',
  find: async (tx, { tenantId }, ids) => {
    const at = now()
    return (await findTokens(tx, tenantId, ids)).map((token) => ({
      id: token.token_id,
      name: token.name || token.hint,
      detail: joinDetail(token.kind, token.hint),
      status: tokenStatusOf(token, at),
      allows: token.revoked_at ? [] : (['revoke'] as const),
    }))
  },
})
