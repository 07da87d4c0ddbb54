import { Type } from 'typebox'
import { auditFieldTypes, auditKinds } from './audit-fields.ts'
import { endpoint } from './endpoint.ts'
import { Closed, Id, List, ListQuery, Nullable, OneOf, Party, Prefix, Time } from './schema.ts'

const fieldSchemas = {
  string: Type.String(),
  integer: Type.Integer(),
  boolean: Type.Boolean(),
  strings: Type.Array(Type.String()),
}
/** The fields of all kinds, each said to belong to those that have it. */
const kindFields = Object.fromEntries(
  [...auditFieldTypes()].map(([name, { type, kinds }]) => [
    name,
    Type.Optional({ ...fieldSchemas[type], description: `Of ${kinds.join(', ')}` }),
  ]),
)
const AuditKind = OneOf(auditKinds, { title: 'AuditKind' })

/** What of the target is set anew. A field has the name that the API gives it; null stands for nothing. */
const Changes = Type.Unsafe<Record<string, [before: unknown, after: unknown]>>({
  title: 'AuditChanges',
  type: 'object',
  description: 'Each field that was changed: [before, after]',
  propertyNames: { pattern: '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)*$' },
  additionalProperties: {
    type: 'array',
    description: '[before, after], of any type',
    minItems: 2,
    maxItems: 2,
    // Not a list of types: the serializer would make a text of a list.
    items: {},
  },
})

/** Beside the common fields stand those that the event's kind declares in the vocabulary. */
export const AuditEvent = Closed(
  {
    event_id: Id('audit_event'),
    seq: Type.Integer({ minimum: 1, description: 'Its place in the record of the tenant, in the order of commits' }),
    hash: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description:
        'SHA-256 of 0x00, the hash of the place before (32 zeros before the first), seq in 8 bytes and this event without seq and hash (RFC 8785)',
    }),
    tenant_id: Id('tenant'),
    ...kindFields,
    kind: AuditKind,
    timestamp: Time,
    outcome: OneOf(['success', 'refused', 'failed']),
    actor: Party,
    target: Nullable(Party),
    source_ip: Nullable(Type.String()),
    user_agent: Nullable(Type.String()),
    request_id: Nullable(Type.String()),
    origin: OneOf(['api', 'console', 'device', 'gateway', 'job']),
    changes: Type.Optional(Changes),
    details: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'What else was said of it; differs from kind to kind',
      }),
    ),
  },
  { title: 'AuditEvent' },
)

export const listAuditEvents = endpoint({
  method: 'GET',
  path: '/v1/audit/events',
  costly: true,
  summary: 'Query audit events, newest first unless said',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  query: ListQuery(
    {
      // A client may name a kind that it knows only at run time; what is no kind is 400.
      kind: Type.Optional(Type.Unsafe<string>(AuditKind)),
      actor_id: Type.Optional(Type.String({ maxLength: 64 })),
      target_id: Type.Optional(Type.String({ maxLength: 64 })),
      source_ip: Type.Optional(Type.String({ maxLength: 64 })),
      outcome: Type.Optional(OneOf(['success', 'refused', 'failed'])),
      from: Type.Optional(Time),
      to: Type.Optional(Time),
      q: Prefix,
      request_id: Type.Optional(Type.String({ maxLength: 64 })),
    },
    ['timestamp', 'seq'] as const,
  ),
  response: List(AuditEvent),
})
