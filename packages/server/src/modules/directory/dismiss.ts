import type { Database } from '../../db/database.ts'
import type { Actor } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Audit } from '../audit/index.ts'
import type { DirectoryRunRow } from './runs.queries.ts'
import * as queries from './runs.queries.ts'
import { freeWindow } from './scim/windows.queries.ts'

/**
 * Discards a held run as a mistake: none of it is ever applied. Provisioned changes keep counting within their hour, so
 * that more of the same is held again. Undefined for a run that is not held.
 */
export const createDismiss =
  ({ db, audit, now }: { db: Database; audit: Audit; now: () => Date }) =>
  (actor: Actor, id: string, reason: string | undefined): Promise<DirectoryRunRow | undefined> => {
    const tenant = actor.tenantId
    return db.inTenant(tenant, async (tx) => {
      const found = await queries.findDirectoryRun(tx, tenant, id)
      if (found?.status !== 'held' || found.directory_id === null) return undefined
      const { directory_id: directory, provider } = found
      await queries.lockDirectory(tx, tenant, directory)
      // Windows are locked before runs, as in a push.
      await freeWindow(tx, tenant, directory, id, null)
      if (!(await queries.cancelHeld(tx, tenant, id, { failure: reason ?? 'It was cancelled.', at: now() })))
        return undefined
      await queries.deleteContent(tx, tenant, id)
      const run_id = encodeId('directory_run', id)
      const target = { type: 'directory_run', id: run_id, name: provider }
      const details = { ...(reason !== undefined && { reason }) }
      await audit.record(tx, actor, 'directory.synced', { run_id, provider, status: 'cancelled' }, { target, details })
      return queries.findDirectoryRun(tx, tenant, id)
    })
  }
