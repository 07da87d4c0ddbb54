import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Id, Nullable, OneOf, Time } from './schema.ts'
import { siemExportStatuses } from './vocabulary.ts'

const access = { by: ['session', 'api_key'], permission: 'audit:export' } as const

export const SiemExport = Closed(
  {
    export_id: Id('siem_export'),
    connector_id: Id('siem_connector'),
    from: Time,
    to: Time,
    status: OneOf(siemExportStatuses, { description: 'preparing: its events are being counted' }),
    problem: Nullable(Type.String({ description: 'Reason of the delay or failure, as a sentence' })),
    events: Nullable(Count),
    delivered: Count,
    refused: Type.Integer({ minimum: 0, description: 'Events that became dead letters of the connector' }),
    created_at: Time,
    finished_at: Nullable(Time),
  },
  { title: 'SiemExport' },
)
export type SiemExport = Static<typeof SiemExport>

export const exportAuditToWebhook = endpoint({
  method: 'GET',
  path: '/v1/audit/export/webhook',
  summary: 'Send the events of a period (default: until now) to a webhook again',
  access,
  begins: true,
  costly: true,
  query: Closed({
    connector_id: Id('siem_connector'),
    from: Time,
    to: Type.Optional(Time),
  }),
  errors: ['validation_error'],
  status: 202,
  response: SiemExport,
})
export const getAuditWebhookExport = endpoint({
  method: 'GET',
  path: '/v1/audit/export/webhook/{export_id}',
  summary: 'Progress of an export',
  access,
  params: Closed({ export_id: Id('siem_export') }),
  response: SiemExport,
})
export const getSiemSchema = endpoint({
  method: 'GET',
  path: '/v1/admin/audit/connectors/schema',
  summary: 'JSON Schema (2020-12) of each kind of connector, and of each kind of event',
  access: { by: ['session', 'api_key'], permission: 'siem:read' },
  response: Closed({
    connectors: Type.Record(Type.String(), Type.Unknown(), { description: 'By kind: the body that makes one' }),
    events: Type.Record(Type.String(), Type.Unknown(), { description: 'By kind: the event in the format json' }),
  }),
})
