import type { SiemConnectorKind } from '@holdfast/contract/vocabulary'
import { failureOf } from './answers.ts'
import { sendOpensearch } from './opensearch.ts'
import type { EventBatch, Send, Sent, SinkDeps, SinkTarget } from './sink.ts'
import { sendSplunk } from './splunk.ts'
import { sendSyslog } from './syslog.ts'
import { sendEventWebhook } from './webhook.ts'

const sinks: Readonly<Record<SiemConnectorKind, Send>> = {
  syslog_tls: sendSyslog,
  syslog_tcp: sendSyslog,
  webhook: sendEventWebhook,
  splunk_hec: sendSplunk,
  opensearch: sendOpensearch,
}

/** Sends one batch and returns its outcome. Throws only if it is aborted. */
export async function sendTo(
  deps: SinkDeps,
  target: SinkTarget,
  batch: EventBatch,
  signal: AbortSignal,
): Promise<Sent> {
  try {
    return await sinks[target.kind](deps, target, batch, signal)
  } catch (e) {
    signal.throwIfAborted()
    return failureOf(e)
  }
}
