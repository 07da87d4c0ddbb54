import type { Database } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import type { Audit } from '../../audit/index.ts'
import type { DirectoryRunRow } from '../runs.queries.ts'
import * as runs from '../runs.queries.ts'
import * as queries from './windows.queries.ts'
import { windowMs } from './windows.ts'

/**
 * Confirms a held run of a provisioned directory: for an hour, removals from that directory or group are not limited.
 * Undefined for a run of another kind.
 */
export const createConfirm =
  ({ db, audit, now }: { db: Database; audit: Audit; now: () => Date }) =>
  (actor: Actor, id: string, reason: string | undefined): Promise<DirectoryRunRow | undefined> => {
    const tenant = actor.tenantId
    return db.inTenant(tenant, async (tx) => {
      const found = await runs.findDirectoryRun(tx, tenant, id)
      if (found?.source !== 'scim' || found.directory_id === null) return undefined
      const { directory_id: directory } = found
      await runs.lockDirectory(tx, tenant, directory)
      const run = (await runs.findDirectoryRun(tx, tenant, id)) ?? missing('directory_run')
      if (run.confirmed_at) return run
      const at = now()
      const { counts, provider, diff } = run
      const settled = { status: 'applied', counts, diff, problems: [], problem_count: 0, finished_at: at } as const
      // Windows are locked before runs, as in a push.
      await queries.freeWindow(tx, tenant, directory, id, new Date(at.getTime() + windowMs))
      if (!(await runs.settleHeld(tx, tenant, id, settled)))
        fail('validation_error', `this run is ${run.status}: only a held run can be confirmed`)
      const run_id = encodeId('directory_run', id)
      const target = { type: 'directory_run', id: run_id, name: provider }
      const details = { confirmed: true, ...(reason !== undefined && { reason }) }
      await audit.record(tx, actor, 'directory.synced', { run_id, provider, status: 'applied' }, { target, details })
      return (await runs.findDirectoryRun(tx, tenant, id)) ?? missing('directory_run')
    })
  }
