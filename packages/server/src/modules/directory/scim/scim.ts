import type { Database } from '../../../db/database.ts'
import type { Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { Owned } from '../../identity/index.ts'
import type { RaiseNotification } from '../../notifications/index.ts'
import { createConfirm } from './confirm.ts'
import { discoveryHandlers } from './discovery.ts'
import { createScimGroups } from './groups.ts'
import { createScimProvisioning } from './provisioning.ts'
import { scimHandlers } from './scim.handlers.ts'
import { createScimUsers } from './users.ts'
import { createLocate } from './view.ts'
import { createWindows } from './windows.ts'

type ScimDeps = {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  owned: Owned
  notify: RaiseNotification
  publicUrl: string
}

/** SCIM server for identity providers (RFC 7644). Each API key writes to its own directory. */
export function createScim(deps: ScimDeps) {
  const parts = { ...deps, provisioning: createScimProvisioning(deps), windows: createWindows(deps) }
  const locate = createLocate(deps.publicUrl)
  const entries = { users: createScimUsers(parts), groups: createScimGroups(parts) }
  return {
    confirm: createConfirm(deps),
    handlers: { ...discoveryHandlers(locate), ...scimHandlers({ ...parts, ...entries, locate }) },
  }
}
