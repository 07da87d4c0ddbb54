import type { SiemExport } from '@holdfast/contract/siem-exports'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import type { ExportRow } from '../delivery/streams.queries.ts'
import type { SiemExports } from './exports.ts'

export const siemExportHandlers = ({ exports }: { exports: SiemExports }) =>
  ({
    exportAuditToWebhook: async ({ actor, query: { connector_id, from, to } }) => {
      const time = { from: new Date(from), ...(to !== undefined && { to: new Date(to) }) }
      return view(await exports.begin(actor, idOf('siem_connector', connector_id), time))
    },
    getAuditWebhookExport: async ({ actor, params }) =>
      view(await exports.get(actor.tenantId, idOf('siem_export', params.export_id))),
  }) satisfies Partial<Handlers>

const view = (e: ExportRow): SiemExport => ({
  export_id: encodeId('siem_export', e.stream_id),
  connector_id: encodeId('siem_connector', e.connector_id),
  from: e.from_at.toISOString(),
  to: e.to_at.toISOString(),
  status: statusOf(e),
  problem: e.problem,
  events: e.events,
  delivered: e.delivered,
  refused: e.dead,
  created_at: e.created_at.toISOString(),
  finished_at: e.finished_at?.toISOString() ?? null,
})
const statusOf = ({ state, until_seq }: ExportRow): SiemExport['status'] => {
  if (state === 'finished' || state === 'failed') return state
  return until_seq === null ? 'preparing' : 'running'
}
