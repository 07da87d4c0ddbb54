import { auditHandlers } from './audit.handlers.ts'
import { exportHandlers } from './export/export.handlers.ts'
import { createExports } from './export/export.ts'
import { syslogOriginOf } from './formats/syslog.ts'
import { checkpointKeysOf, createProof, type ProofDeps } from './proof/index.ts'
import { createRecorder } from './recorder.ts'
import { createSequencer } from './sequencer.ts'

export type { Changed, Target } from './record.ts'

type AuditDeps = Omit<ProofDeps, 'catchUp' | 'keys'> & {
  onError: (e: unknown) => void
  oidArc: string
  trust: Parameters<typeof checkpointKeysOf>[0]
}
/** The record of each tenant: what happened, in the order in which it was committed. */
export function createAudit(deps: AuditDeps) {
  const { wake, catchUp, start, stop } = createSequencer(deps)
  const keys = checkpointKeysOf(deps.trust)
  const recorder = createRecorder({ ...deps, wake })
  const exports = createExports({ ...deps, catchUp, audit: recorder, signerFor: keys.signer })
  const proof = createProof({ ...deps, keys, catchUp })
  return {
    ...recorder,
    handlers: {
      ...auditHandlers({ ...deps, catchUp }),
      ...exportHandlers({ exports, now: deps.now, syslogOrigin: syslogOriginOf(deps) }),
      ...proof.handlers,
    },
    jobs: proof.jobs,
    prunes: proof.prunes,
    start,
    stop,
  }
}
export type Audit = ReturnType<typeof createAudit>
