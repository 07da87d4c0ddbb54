import type { Database } from '../../db/database.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { Owned } from '../identity/index.ts'
import type { RaiseNotification } from '../notifications/index.ts'

/** Dependencies of directory runs. Each file takes those that it needs. */
export type RunDeps = {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  owned: Owned
  notify: RaiseNotification
}
