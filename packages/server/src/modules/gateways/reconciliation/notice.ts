import { encodeId } from '../../../kernel/ids.ts'
import type { Notice } from '../../notifications/index.ts'
import type { Doubtful } from './questions.queries.ts'

type Group = { verdict: Doubtful; gateway_id: string | null; connections: number }

const severities = { unauthorized: 'critical', conflict: 'warning', stale: 'warning' } as const
/** Advice for administrators: the finding, its importance and the next step. */
const advice: Record<Doubtful, string> = {
  unauthorized:
    'The gateway reports connections of devices that may not connect. Check whether it receives and applies its policy. Disconnect it from the network until it does.',
  conflict:
    'The gateway, the device and this server report different states of the same connection. One of them missed a change, or reports a false state. Compare their reports.',
  stale:
    'The gateway reports, but without traffic of these connections. After 15 minutes without it the sessions end here. Check the metering and the clock of the gateway.',
}

/** Returns the notification for the connections of one gateway (null: no known gateway) with this verdict. */
export function mismatchNotice({ verdict, gateway_id, connections }: Group, name: string | null) {
  const many = connections === 1 ? '1 connection' : `${connections} connections`
  const where = gateway_id === null ? 'to an unknown gateway' : `of gateway ${name ?? '(deleted)'}`
  const id = gateway_id && encodeId('gateway', gateway_id)
  const filter = id ? `&gateway_id=${id}` : ''
  return {
    kind: `connection.${verdict}`,
    severity: severities[verdict],
    title: `${many} ${where} ${connections === 1 ? 'is' : 'are'} ${verdictText[verdict]}`,
    detail: `${advice[verdict]}\nGET /v1/admin/connection_truth?verdict=${verdict}${filter}`,
    subject: { type: 'gateway', id, name },
    dedupe_key: `connection.${verdict}:${gateway_id ?? 'none'}`,
  } as const satisfies Notice
}
const verdictText: Record<Doubtful, string> = {
  unauthorized: 'unauthorized',
  conflict: 'in conflict',
  stale: 'stale',
}
