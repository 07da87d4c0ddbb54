import type { Config } from '../config/config.ts'
import type { Draining } from '../http/connection/draining.ts'
import { type Answered, createPlainListener, type PlainRequest } from '../http/connection/plain-listener.ts'
import type { SourceOf } from '../http/connection/source-ip.ts'
import type { Log } from '../kernel/log.ts'

type Answer = (asked: PlainRequest) => Promise<Answered>
/** Few clients scrape metrics: Prometheus and similar tools. */
const mostScrapers = 64

/** The listeners beside the API, each on the address that the operator configures. */
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
