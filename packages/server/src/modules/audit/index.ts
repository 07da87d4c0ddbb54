import type { TenantId } from '../../kernel/actor.ts'
import { countsBetween, pruneCounts } from './audit.queries.ts'
import { eventHandlers } from './events/events.handlers.ts'
import { createSince } from './events/since.ts'
import { createExport, type ExportDeps } from './export/index.ts'
import { pruneReported } from './ingest/ingest.queries.ts'
import { createIngest } from './ingest/ingest.ts'
import { checkpointKeysOf, createProof, type ProofDeps } from './proof/index.ts'
import { pruneRecord } from './purge/purge.queries.ts'
import { createRecorder } from './recorder.ts'
import { createSequencer } from './sequencer.ts'
import { createWordIndexer } from './words/indexer.ts'
import { pruneWords } from './words/words.queries.ts'

export { cef } from './formats/cef.ts'
export { readEvent, type StoredEvent } from './formats/event.ts'
export { json } from './formats/json.ts'
export { ocsf } from './formats/ocsf.ts'
export { octetCounted, type SyslogOrigin, syslog, syslogOriginOf } from './formats/syslog.ts'
export { findBeginning } from './purge/purge.queries.ts'
export { type AuditTarget, arrivalOf, type FieldChanges } from './record.ts'

type AuditDeps = Omit<ExportDeps & ProofDeps, 'catchUp' | 'audit' | 'keys'> & {
  trust: Parameters<typeof checkpointKeysOf>[0]
  /** Called after this replica has assigned sequence numbers to events of the tenant. */
  placed: (tenant: TenantId) => void
}
/** The audit log of each tenant: events in the order of their commits. */
export function createAudit(deps: AuditDeps) {
  const wordIndexer = createWordIndexer(deps)
  const placed: typeof wordIndexer.placed = (tenant, ...given) => {
    wordIndexer.placed(tenant, ...given)
    deps.placed(tenant)
  }
  const { wake, place, stop, ...sequencer } = createSequencer({ ...deps, placed })
  const { catchUp } = sequencer
  const recorder = createRecorder({ ...deps, wake })
  const keys = checkpointKeysOf(deps.trust)
  const proof = createProof({ ...deps, keys, catchUp })
  const exporting = createExport({ ...deps, catchUp, keys, audit: recorder })
  return {
    ...recorder,
    ...sequencer,
    /** Number of events of the charted kinds, by hour or day. */
    countsBetween: (tenant: TenantId, span: Parameters<typeof countsBetween>[2]) =>
      deps.db.inTenant(tenant, (tx) => countsBetween(tx, tenant, span)),
    ...createSince(deps),
    handlers: {
      ...eventHandlers({ ...deps, catchUp }),
      ...createIngest({ ...deps, place }).handlers,
      ...exporting.handlers,
      ...proof.handlers,
    },
    jobs: proof.jobs,
    prunes: [pruneRecord, pruneReported, pruneCounts, pruneWords, ...proof.prunes],
    letGo: exporting.letGo,
    stop: (): Promise<void> => exporting.ended().then(stop).then(wordIndexer.stop),
  }
}
export type Audit = ReturnType<typeof createAudit>
