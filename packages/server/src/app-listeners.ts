import type { Config } from './config/config.ts'
import type { Draining } from './http/draining.ts'
import { type Answered, type Asked, createPlainListener } from './http/plain-listener.ts'
import type { Log } from './kernel/log.ts'

type Answer = (asked: Asked) => Promise<Answered>
/** Prometheus and its like are few. */
const mostScrapers = 64

/** What listens beside the contract, each where the operator wants it. */
export function createListeners({
  config: { pki, metrics, trustedProxies, maxConnections },
  answers,
  ...deps
}: {
  config: Config
  draining: Draining
  log: Pick<Log, 'error'>
  answers: { pki: Answer; metrics: Answer | undefined }
}) {
  const shared = { ...deps, trustedProxies }
  return {
    pki: pki && createPlainListener({ ...shared, answer: answers.pki, maxConnections }),
    metrics:
      metrics &&
      answers.metrics &&
      createPlainListener({ ...shared, answer: answers.metrics, maxConnections: mostScrapers }),
  }
}
