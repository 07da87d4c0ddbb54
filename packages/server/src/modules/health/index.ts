import { Answer } from '../../http/answer/answer.ts'
import type { Handlers } from '../../http/handlers.ts'
import { createReadiness, type Readiness, type ReadinessDeps } from './readiness.ts'

export { createListening, type Listening } from './listening.ts'

/** Readiness: tells if this replica can take requests. */
export function createReadinessHealth(deps: ReadinessDeps) {
  const readiness = createReadiness(deps)
  return {
    handlers: readinessHandlers(readiness),
    /** Called when sign-in has become possible. */
    open: readiness.open,
    /** Called at shutdown; the replica is no longer ready. */
    close: readiness.close,
    jobs: [{ name: 'forget_replicas', cron: '25 4 * * *', run: readiness.forgetOthers }],
  }
}

const readinessHandlers = (readiness: Readiness) =>
  ({
    health: async () => ({ status: 'ok' }),
    ready: async ({ request }) => {
      if (await readiness.isReady()) return { status: 'ready' }
      const body = { error: 'internal_error', detail: 'not ready', request_id: request.caller.requestId }
      return new Answer(Buffer.from(JSON.stringify(body)), { status: 503, headers: { 'retry-after': '1' } })
    },
  }) satisfies Partial<Handlers>
