import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import { eventHandlers } from './events/events.handlers.ts'
import { pruneReported } from './ingest/ingest.queries.ts'
import { createIngest } from './ingest/ingest.ts'
import { createRecorder } from './recorder.ts'
import { createSequencer } from './sequencer.ts'
import { createWordIndexer } from './words/indexer.ts'
import { pruneWords } from './words/words.queries.ts'

export type { Changed, Target } from './record.ts'

/** The record of each tenant: what happened, in the order in which it was committed. */
export function createAudit(deps: { db: Database; pager: Pager; now: () => Date; onError: (e: unknown) => void }) {
  const words = createWordIndexer(deps)
  const { wake, catchUp, start, stop } = createSequencer({ ...deps, placed: words.placed })
  const { write, ...recorder } = createRecorder({ ...deps, wake })
  return {
    ...recorder,
    handlers: { ...eventHandlers({ ...deps, catchUp }), ...createIngest({ ...deps, write }).handlers },
    prunes: [pruneReported, pruneWords],
    start,
    stop: async (): Promise<void> => {
      await stop()
      await words.stop()
    },
  }
}
export type Audit = ReturnType<typeof createAudit>
