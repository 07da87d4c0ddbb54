import type { Signer } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { auditHandlers } from './audit.handlers.ts'
import { exportHandlers } from './export/export.handlers.ts'
import { createExports } from './export/export.ts'
import { syslogOriginOf } from './formats/syslog.ts'
import { createRecorder } from './recorder.ts'
import { createSequencer } from './sequencer.ts'

export type { Changed, Target } from './record.ts'

type AuditDeps = {
  db: Database
  pager: Pager
  now: () => Date
  onError: (e: unknown) => void
  publicUrl: string
  oidArc: string
  /** Of what says where the record stands. */
  checkpointKeys: { signer: (tenant: TenantId) => Promise<Signer> }
}
/** The record of each tenant: what happened, in the order in which it was committed. */
export function createAudit(deps: AuditDeps) {
  const { wake, catchUp, start, stop } = createSequencer(deps)
  const recorder = createRecorder({ ...deps, wake })
  const exports = createExports({ ...deps, catchUp, audit: recorder, signerFor: deps.checkpointKeys.signer })
  return {
    ...recorder,
    handlers: {
      ...auditHandlers({ ...deps, catchUp }),
      ...exportHandlers({ exports, now: deps.now, syslogOrigin: syslogOriginOf(deps) }),
    },
    start,
    stop,
  }
}
export type Audit = ReturnType<typeof createAudit>
