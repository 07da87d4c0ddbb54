import { Answer } from '../../http/answer/answer.ts'
import type { Handlers } from '../../http/handlers.ts'
import type { Readiness } from './readiness.ts'

export const readinessHandlers = (readiness: Readiness) =>
  ({
    health: async () => ({ status: 'ok' }),
    ready: async ({ request }) => {
      if (await readiness.isReady()) return { status: 'ready' }
      const body = { error: 'internal_error', detail: 'not ready', request_id: request.caller.requestId }
      return new Answer(Buffer.from(JSON.stringify(body)), { status: 503, headers: { 'retry-after': '1' } })
    },
  }) satisfies Partial<Handlers>
