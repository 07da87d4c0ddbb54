import { Type } from 'typebox'
import { AuditEvent, listAuditEvents } from './audit.ts'
import { endpoint } from './endpoint.ts'
import { Bytes, Closed, Count, Id, Nullable, Octets, OneOf, Time } from './schema.ts'

const access = { by: ['session', 'api_key'], permission: 'audit:export' } as const
const { limit: _, cursor: __, sort: ___, ...filters } = listAuditEvents.query.properties
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$', maxLength: 64 })
const Place = Type.Integer({ minimum: 1 })

export const auditExportFormats = ['csv', 'json', 'ndjson'] as const
export const syslogFramings = ['octet-counting', 'newline'] as const
const Format = OneOf([...auditExportFormats, 'syslog'])

/** Manifest of an export, which is signed. */
export const AuditExportManifest = Closed(
  {
    schema: OneOf(['holdfast.audit-export/1']),
    tenant_id: Id('tenant'),
    format: Format,
    filter: Type.Record(Type.String(), Type.Unknown(), { description: 'Filter of the request' }),
    started_at: Time,
    events: Count,
    first_seq: Nullable(Place),
    last_seq: Nullable(Place),
    hash_before_first: Nullable(Type.String({ description: 'Hash of the event before the first one; null: unknown' })),
    hash_of_last: Nullable(Sha256),
    bytes: Bytes,
    sha256: Type.String({
      description: 'SHA-256 of the exported bytes. For JSON and NDJSON: of all bytes before the last line',
    }),
    head: Closed({ seq: Count, hash: Sha256 }, { description: 'End of the audit log when the export began' }),
    checkpoint: Type.Optional(
      Type.String({
        description:
          'Note of the newest checkpoint with at most the events of `head`. Absent: there is no checkpoint yet',
      }),
    ),
  },
  { title: 'AuditExportManifest' },
)

const signed = {
  manifest: AuditExportManifest,
  jws: Type.String({
    description:
      'The signed manifest (JWS, typ `audit-export+jws`). A key of the trust set with the purpose `audit-checkpoint` signs it',
  }),
}
const Lines = (description: string) => Type.String({ description })

/** If few events of a long audit log match, the first one may come late. */
const patience = 600

export const exportAudit = endpoint({
  method: 'GET',
  path: '/v1/admin/audit/export',
  summary: 'Export audit events',
  description:
    'The events have the order of their sequence numbers, up to the current end of the audit log. JSON and NDJSON end with a signed manifest. An export without one is incomplete.',
  access,
  patience,
  query: Closed({
    format: Type.Optional(OneOf(auditExportFormats, { description: 'Format of the export. Default: json' })),
    ...filters,
  }),
  stream: {
    'application/json': Closed({ events: Type.Array(AuditEvent), ...signed }, { title: 'AuditExport' }),
    'application/x-ndjson': Lines('An AuditEvent on each line; on the last one its SignedAuditExportManifest'),
    'text/csv; charset=utf-8; header=present': Lines('RFC 4180; the last column, `record`, is the event as JSON'),
  },
  response: Octets,
})
export const exportAuditSyslog = endpoint({
  method: 'GET',
  path: '/v1/audit/export/syslog',
  summary: 'Export audit events as syslog messages',
  description: 'The messages are those of RFC 5424, each framed as by RFC 6587.',
  access,
  patience,
  query: Closed({
    framing: Type.Optional(
      OneOf(syslogFramings, { description: 'Framing of the messages (RFC 6587). Default: newline' }),
    ),
    ...filters,
  }),
  stream: { 'text/plain; charset=utf-8': Lines('A message of RFC 5424 for each event; its text is the event as JSON') },
  response: Octets,
})
export const getAuditExportManifest = endpoint({
  method: 'GET',
  path: '/v1/admin/audit/export/manifest',
  costly: true,
  summary: 'Get the signed manifest of an audit export',
  description:
    'The SHA-256 of its content names a complete export. With `format` it is an export in this format and by exactly these filters, otherwise the last export with this content.',
  access,
  query: Closed({ sha256: Sha256, format: Type.Optional(Format), ...filters }),
  response: Closed(signed, { title: 'SignedAuditExportManifest' }),
  errors: ['not_found'],
})
