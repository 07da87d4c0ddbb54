import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import type { Actor } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { encodeId, idOf, missing } from '../../kernel/ids.ts'
import { findLock, type LockRow, type LockTarget, selectLocks } from './locks.queries.ts'
import type { Locks } from './locks.ts'

export const lockHandlers = ({ db, pager, locks }: { db: Database; pager: Pager; locks: Locks }) =>
  ({
    listLocks: ({ actor, query: { status = 'active', ...query } }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const found = await pager.list(selectLocks(tx, actor.tenantId, status, query.target_type), {
          operation: 'listLocks',
          tenant: actor.tenantId,
          query: { ...query, status },
          orders: { created_at: { column: 'created_at', kind: 'time' } },
          tie: 'lock_id',
        })
        return { items: found.items.map(view), next_cursor: found.next_cursor }
      }),
    getLock: async ({ actor, params }) => {
      const id = idOf('lock', params.lock_id)
      return view((await db.inTenant(actor.tenantId, (tx) => findLock(tx, actor.tenantId, id))) ?? missing('lock'))
    },
    createLock: async ({ actor, body: { target, reason, expires_in_seconds: expiresInSeconds } }) => {
      const made = await locks.create(actor, targetOf(actor, target), { reason, expiresInSeconds })
      return { ...made, lock: view(made.lock) }
    },
    releaseLock: async ({ actor, params, body }) => {
      const { lock, changed } = await locks.release(actor, idOf('lock', params.lock_id), body.reason)
      return { lock: view(lock), changed }
    },
  }) satisfies Partial<Handlers>

/** A lock of a tenant always targets the actor's own tenant. */
function targetOf({ tenantId }: Actor, { type, id }: { type: LockTarget['type']; id?: string }): LockTarget {
  if (id === undefined) return type === 'tenant' ? { type, id: tenantId } : failField('target.id', 'is required')
  return { type, id: idOf(type, id) }
}

const view = (lock: LockRow) => ({
  lock_id: encodeId('lock', lock.lock_id),
  target: { type: lock.target_type, id: encodeId(lock.target_type, lock.target_id), name: lock.target_name },
  status: lock.released_at ? ('released' as const) : ('active' as const),
  reason: lock.reason,
  created_by: lock.created_by,
  created_at: lock.created_at.toISOString(),
  expires_at: lock.expires_at?.toISOString() ?? null,
  released_by: lock.released_by,
  released_at: lock.released_at?.toISOString() ?? null,
})
