import { joinDetail, type StoredSource } from '../../db/search.ts'
import { keyStatusOf } from './api-keys.handlers.ts'
import { findKeys } from './api-keys.queries.ts'
import { isRole, mayHandle } from './roles.ts'

/** API keys in search results, found by name or hint. */
export const createKeyHits = ({ now }: { now: () => Date }): StoredSource => ({
  kind: 'api_key',
  noun: 'api_key',
  find: async (tx, actor, ids) => {
    const at = now()
    return (await findKeys(tx, actor.tenantId, ids)).map((key) => {
      const mayRevoke = key.revoked_at === null && (!isRole(key.role) || mayHandle(actor, key.role))
      return {
        id: key.key_id,
        name: key.name,
        detail: joinDetail(key.role, key.hint),
        status: keyStatusOf(key, at),
        allows: mayRevoke ? (['revoke'] as const) : [],
      }
    })
  },
})
