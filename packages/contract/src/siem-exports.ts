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
    status: OneOf(siemExportStatuses, { description: '`preparing`: the server counts the events' }),
    problem: Nullable(Type.String({ description: 'Reason of the delay or failure, as a sentence' })),
    events: Nullable(Count),
    delivered: Count,
    refused: Type.Integer({ minimum: 0, description: 'Number of events that became dead letters of the connector' }),
    created_at: Time,
    finished_at: Nullable(Time),
  },
  { title: 'SiemExport' },
)
export type SiemExport = Static<typeof SiemExport>

export const exportAuditToWebhook = endpoint({
  method: 'GET',
  path: '/v1/audit/export/webhook',
  summary: 'Send the audit events of a period to a webhook',
  description: 'The period ends now by default.',
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
  summary: 'Get the progress of a webhook export',
  access,
  params: Closed({ export_id: Id('siem_export') }),
  response: SiemExport,
})
export const getSiemSchema = endpoint({
  method: 'GET',
  path: '/v1/admin/audit/connectors/schema',
  summary: 'Get the schemas of connectors and events',
  description: 'The answer has the JSON Schema (2020-12) of each kind of connector, and of each kind of event.',
  access: { by: ['session', 'api_key'], permission: 'siem:read' },
  response: Closed({
    connectors: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Schema of the body of `createSiemConnector`, by kind of connector',
    }),
    events: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Schema of an event in the format `json`, by kind of event',
    }),
  }),
})
