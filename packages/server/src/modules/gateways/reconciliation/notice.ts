import { encodeId } from '../../../kernel/ids.ts'
import type { Notice } from '../../notifications/index.ts'
import type { Doubtful } from './questions.queries.ts'

type Group = { verdict: Doubtful; gateway_id: string | null; connections: number }

const severities = { unauthorized: 'critical', conflict: 'warning', stale: 'warning' } as const
/** Advice for administrators: the finding, its importance and the next step. */
const advice: Record<Doubtful, string> = {
  unauthorized:
    'The gateway says that it carries devices that may not connect. Look whether it gets its policy and applies it; while it does not, take it off the network.',
  conflict:
    'Witnesses say different things of the same connection: one of them has lost it, or does not tell the truth. Look at what each says.',
  stale:
    'The gateway is heard of, but it does not meter these connections any more; they end here after a quarter of an hour of silence. Look at its metering, and at its clock.',
}

/** Returns the notification for the connections of one gateway (null: no known gateway) with this verdict. */
export function mismatchNotice({ verdict, gateway_id, connections }: Group, name: string | null) {
  const many = connections === 1 ? '1 connection' : `${connections} connections`
  const where = gateway_id === null ? 'to no gateway that there is' : `of gateway ${name ?? '(deleted)'}`
  const id = gateway_id && encodeId('gateway', gateway_id)
  const filter = id ? `&gateway_id=${id}` : ''
  return {
    kind: `connection.${verdict}`,
    severity: severities[verdict],
    title: `${many} ${where} ${connections === 1 ? 'is' : 'are'} ${words[verdict]}`,
    detail: `${advice[verdict]}\nGET /v1/admin/connection_truth?verdict=${verdict}${filter}`,
    subject: { type: 'gateway', id, name },
    dedupe_key: `connection.${verdict}:${gateway_id ?? 'none'}`,
  } as const satisfies Notice
}
const words: Record<Doubtful, string> = {
  unauthorized: 'unauthorized',
  conflict: 'in conflict',
  stale: 'stale',
}
