import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Id, List, ListQuery, Nullable, OneOf, Prefix, Time } from './schema.ts'

const Named = Type.Object(
  { type: Type.String(), id: Nullable(Type.String()), name: Nullable(Type.String()) },
  { additionalProperties: false },
)

/** Open at its top level: beside these stand the fields that the event's kind declares in the vocabulary. */
export const AuditEvent = Type.Object(
  {
    event_id: Id('audit_event'),
    tenant_id: Id('tenant'),
    kind: Type.String(),
    timestamp: Time,
    outcome: OneOf(['success', 'refused', 'failed']),
    actor: Named,
    target: Nullable(Named),
    source_ip: Nullable(Type.String()),
    user_agent: Nullable(Type.String()),
    request_id: Nullable(Type.String()),
    origin: OneOf(['api', 'console', 'device', 'gateway', 'job']),
    changes: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: true },
)

export const listAuditEvents = endpoint({
  method: 'GET',
  path: '/v1/audit/events',
  summary: 'Query audit events, newest first unless said',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  query: ListQuery(
    {
      kind: Type.Optional(Type.String({ maxLength: 64 })),
      actor_id: Type.Optional(Type.String({ maxLength: 64 })),
      target_id: Type.Optional(Type.String({ maxLength: 64 })),
      source_ip: Type.Optional(Type.String({ maxLength: 64 })),
      outcome: Type.Optional(OneOf(['success', 'refused', 'failed'])),
      from: Type.Optional(Time),
      to: Type.Optional(Time),
      q: Prefix,
      request_id: Type.Optional(Type.String({ maxLength: 64 })),
    },
    ['timestamp'] as const,
  ),
  response: List(AuditEvent),
})
