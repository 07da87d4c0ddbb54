import { healthHandlers } from './health.handlers.ts'
import { createReadiness, type ReadinessDeps } from './readiness.ts'

export { createListening, type Listening } from './listening.ts'

/** Whether this replica may be sent requests. */
export function createHealth(deps: ReadinessDeps) {
  const readiness = createReadiness(deps)
  return {
    handlers: healthHandlers(readiness),
    /** Someone can sign in from now on. */
    open: readiness.open,
    /** Not ready from now on. */
    close: readiness.close,
    jobs: [{ name: 'forget_replicas', cron: '25 4 * * *', run: readiness.forgetOthers }],
  }
}
