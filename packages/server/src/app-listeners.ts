import type { Config } from './config/config.ts'
import type { Draining } from './http/draining.ts'
import { type Answered, type Asked, createPlainListener } from './http/plain-listener.ts'
import type { SourceOf } from './http/source-ip.ts'
import type { Log } from './kernel/log.ts'

type Answer = (asked: Asked) => Promise<Answered>
/** Prometheus and its like are few. */
const mostScrapers = 64

/** What listens beside the contract, each where the operator wants it. */
export function createListeners({
  config: { pki, metrics, maxConnections },
  answers,
  ...deps
}: {
  config: Config
  draining: Draining
  log: Pick<Log, 'error'>
  sourceOf: SourceOf
  answers: { pki: Answer; metrics: Answer | undefined }
}) {
  return {
    pki: pki && createPlainListener({ ...deps, answer: answers.pki, maxConnections }),
    metrics:
      metrics &&
      answers.metrics &&
      createPlainListener({ ...deps, answer: answers.metrics, maxConnections: mostScrapers }),
  }
}
