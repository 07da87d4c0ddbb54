import type { Kek } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { Identity } from '../identity/index.ts'
import type { RaiseNotification } from '../notifications/index.ts'
import type { Tenancy } from '../tenancy/index.ts'
import { createApplyRun } from './apply-run.ts'
import { directoryHandlers } from './directory.handlers.ts'
import { pullJob } from './pull/begin.ts'
import { createPulls } from './pull/pulls.ts'
import { sourceHandlers } from './pull/sources.handlers.ts'
import { createSources } from './pull/sources.ts'
import { pruneDirectoryRuns } from './runs.queries.ts'
import { createDirectoryRuns, createDismiss } from './runs.ts'
import { createScim } from './scim/scim.ts'
import { createUndo } from './undo.ts'

type DirectoryDeps = {
  db: Database
  audit: Audit
  changes: Changes
  pager: Pager
  now: () => Date
  publicUrl: string
  /** Encrypts the credentials of directory sources. */
  kek: Kek
  outbound: Pick<Outbound, 'request' | 'refusalOf'>
  identity: Pick<Identity, 'owned'>
  notifications: { notify: RaiseNotification }
  tenancy: Pick<Tenancy, 'listTenantIds'>
  onError: (e: unknown) => void
}

/** Synchronizes users and groups with the directories of a tenant. */
export function createDirectory(deps: DirectoryDeps) {
  const { identity, notifications, tenancy } = deps
  const parts = { ...deps, owned: identity.owned, notify: notifications.notify }
  const applyRun = createApplyRun(parts)
  const pulls = createPulls({ ...parts, applyRun, openCredential: (source) => sources.openCredential(source) })
  const sources = createSources({ ...parts, begin: pulls })
  const scim = createScim(parts)
  const deleteAbsent = async () => identity.owned.deleteAbsent(await tenancy.listTenantIds())
  return {
    handlers: {
      ...directoryHandlers({
        ...parts,
        runs: createDirectoryRuns({ ...parts, applyRun }),
        undo: createUndo(parts),
        scim,
      }),
      ...sourceHandlers({ sources, pulls, dismiss: createDismiss(parts) }),
      ...scim.handlers,
    },
    jobs: [
      { name: pullJob, cron: '* * * * *', run: pulls.run },
      { name: 'delete_absent_users', cron: '40 * * * *', run: deleteAbsent },
    ],
    prunes: [pruneDirectoryRuns],
    stop: pulls.stop,
  }
}
