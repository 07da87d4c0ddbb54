import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { Identity } from '../identity/index.ts'
import type { Notify } from '../notifications/index.ts'
import { directoryHandlers } from './directory.handlers.ts'
import { pruneRuns } from './runs.queries.ts'
import { createRuns } from './runs.ts'
import { createScim } from './scim/scim.ts'
import { createUndo } from './undo.ts'

type DirectoryDeps = {
  db: Database
  audit: Audit
  changes: Changes
  pager: Pager
  now: () => Date
  publicUrl: string
  identity: Pick<Identity, 'owned'>
  notify: Notify
  tenants: () => Promise<readonly TenantId[]>
}

/** Keeps users and groups as the directories of a tenant say. */
export function createDirectory(deps: DirectoryDeps) {
  const { identity, tenants } = deps
  const parts = { ...deps, owned: identity.owned }
  const scim = createScim(parts)
  const runs = createRuns(parts)
  return {
    handlers: {
      ...directoryHandlers({ ...parts, runs, undo: createUndo(parts), confirmProvisioned: scim.confirm }),
      ...scim.handlers,
    },
    jobs: [
      {
        name: 'delete_absent_users',
        cron: '40 * * * *',
        run: async () => identity.owned.deleteAbsent(await tenants()),
      },
    ],
    prunes: [pruneRuns],
  }
}
