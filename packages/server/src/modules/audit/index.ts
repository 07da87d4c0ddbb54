import { auditHandlers } from './audit.handlers.ts'
import { createProof, type ProofDeps } from './proof/index.ts'
import { createRecorder } from './recorder.ts'
import { createSequencer } from './sequencer.ts'

export type { Changed, Target } from './record.ts'

/** The record of each tenant: what happened, in the order in which it was committed. */
export function createAudit(deps: Omit<ProofDeps, 'catchUp'> & { onError: (e: unknown) => void }) {
  const { wake, catchUp, start, stop } = createSequencer(deps)
  const proof = createProof({ ...deps, catchUp })
  return {
    ...createRecorder({ ...deps, wake }),
    handlers: { ...auditHandlers({ ...deps, catchUp }), ...proof.handlers },
    jobs: proof.jobs,
    prunes: proof.prunes,
    start,
    stop,
  }
}
export type Audit = ReturnType<typeof createAudit>
