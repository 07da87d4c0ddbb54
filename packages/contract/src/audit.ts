import { Type } from 'typebox'
import { auditFieldTypes, auditKinds } from './audit-fields.ts'
import { endpoint } from './endpoint.ts'
import { ingestion } from './limits.ts'
import {
  Closed,
  Count,
  Duplicate,
  Id,
  List,
  ListQuery,
  Nullable,
  OneOf,
  Party,
  Prefix,
  Rejected,
  Time,
} from './schema.ts'

const fieldSchemas = {
  string: Type.String(),
  integer: Type.Integer(),
  boolean: Type.Boolean(),
  strings: Type.Array(Type.String()),
}
/** The fields of all kinds. Each description names the kinds that have it. */
const kindFields = Object.fromEntries(
  [...auditFieldTypes()].map(([name, { type, kinds }]) => [
    name,
    Type.Optional({ ...fieldSchemas[type], description: `Of ${kinds.join(', ')}` }),
  ]),
)
const AuditKind = OneOf(auditKinds, { title: 'AuditKind' })

/** Changes of the target. Fields are named as in the API; null means that there is no value. */
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
    // Not a list of types: the serializer would convert a list to a text.
    items: {},
  },
})

const Outcome = OneOf(['success', 'refused', 'failed'])
const Origin = OneOf(['api', 'console', 'device', 'gateway', 'job'])

/** The common fields, and those that the vocabulary declares for the event's kind. */
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
    outcome: Outcome,
    actor: Party,
    target: Nullable(Party),
    source_ip: Nullable(Type.String()),
    user_agent: Nullable(Type.String()),
    request_id: Nullable(Type.String()),
    origin: Origin,
    changes: Type.Optional(Changes),
    details: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'What else was said of it; differs from kind to kind',
      }),
    ),
  },
  { title: 'AuditEvent' },
)

/** Filters of events. An event must match all that are given. */
const filters = {
  kind: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'A kind, several between commas, or all that begin alike: `login.*,account.locked`',
    }),
  ),
  actor_id: Type.Optional(Type.String({ maxLength: 64 })),
  actor_type: Type.Optional(Type.String({ maxLength: 64 })),
  target_id: Type.Optional(Type.String({ maxLength: 64 })),
  target_type: Type.Optional(Type.String({ maxLength: 64 })),
  source_ip: Type.Optional(Type.String({ maxLength: 64 })),
  outcome: Type.Optional(Outcome),
  origin: Type.Optional(Origin),
  request_id: Type.Optional(Type.String({ maxLength: 64 })),
  operation: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'What was done or refused: `listUsers`, `suspend`' }),
  ),
  reason: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Why: the `reason` or `failure_reason` of an event, such as `wrong_password` or `forbidden`',
    }),
  ),
  username: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The username of a sign-in that failed or was throttled; ASCII letters in either case',
    }),
  ),
  from: Type.Optional(Time),
  to: Type.Optional(Time),
  q: Prefix,
  text: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description:
        'Terms between spaces, each anywhere in the record as it is written, ASCII letters in either case; a word that one begins or ends with is a whole word',
    }),
  ),
}

export const listAuditEvents = endpoint({
  method: 'GET',
  path: '/v1/audit/events',
  costly: true,
  summary:
    'Query audit events, newest first unless said; a page may be short, or empty, while there is a next one. A poller asks for `sort=seq` and goes on with `after_seq`',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  query: ListQuery(
    {
      ...filters,
      after_seq: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Only what has its place after this one',
        }),
      ),
    },
    ['timestamp', 'seq'] as const,
  ),
  response: List(AuditEvent),
})

export const getAuditEvent = endpoint({
  method: 'GET',
  path: '/v1/audit/events/{event_id}',
  summary: 'One audit event',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  params: Closed({ event_id: Id('audit_event') }),
  response: AuditEvent,
  errors: ['not_found'],
})

export const auditFacets = ['kind', 'actor', 'origin', 'outcome'] as const
const Facet = Closed(
  {
    facet: OneOf(auditFacets),
    values: Type.Array(
      Closed({
        value: Type.String({ description: 'A value of the filter: a kind, the id of an actor, an origin, an outcome' }),
        name: Nullable(Type.String({ description: 'Of an actor, as its newest event among these has it' })),
        count: Count,
        buckets: Type.Array(Count, { description: 'The same count by bucket' }),
      }),
      { description: 'Those with most events first; at most 50' },
    ),
    other: Type.Integer({ minimum: 0, description: 'Events with a value that is not listed, or with none' }),
  },
  { title: 'AuditFacet' },
)

export const auditHistogram = endpoint({
  method: 'GET',
  path: '/v1/audit/histogram',
  costly: true,
  summary: 'How many audit events there are over time, by the filters of the list; the last 24 hours unless said',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  query: Closed({
    ...filters,
    buckets: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: '24 unless said' })),
    facets: Type.Optional(
      Type.String({
        maxLength: 64,
        pattern: '^(kind|actor|origin|outcome)(,(kind|actor|origin|outcome)){0,3}$',
        description: 'By what else the events are counted, between commas: `kind,actor,origin,outcome`',
      }),
    ),
  }),
  response: Closed({
    from: Time,
    to: Time,
    estimated: Type.Boolean({
      description: 'Too many to be counted: what is shown follows from a sample spread evenly over each bucket',
    }),
    buckets: Type.Array(Closed({ from: Time, count: Count }), { description: 'All as long; up to the next one' }),
    facets: Type.Array(Facet, { description: 'One for each that was asked for, in that order' }),
  }),
})

/** An event that a gateway observed. Texts are cut after 512 characters. */
const ReportedEvent = Closed(
  {
    event_id: Type.String({
      minLength: 1,
      maxLength: 64,
      description: `Made by the gateway, once for each event: whatever is sent again under it within ${ingestion.rememberedDays} days changes nothing`,
    }),
    kind: Type.String({
      maxLength: 64,
      description: 'One of `gateway_report.*`',
      examples: ['gateway_report.started'],
    }),
    at: Type.String({ maxLength: 40, description: "By the gateway's clock, which may be wrong (RFC 3339)" }),
    outcome: Type.Optional(Outcome),
    target: Type.Optional(
      Closed(
        {
          type: Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z][a-z0-9_]*$' }),
          id: Type.Optional(Type.String({ maxLength: 64, description: 'Kept whole: events are asked for by it' })),
          name: Type.Optional(Type.String({ maxLength: 4096 })),
        },
        { description: 'What it is about, as the gateway says' },
      ),
    ),
    remote_ip: Type.Optional(Type.String({ maxLength: 64 })),
    details: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' }),
        Type.Union([Type.String({ maxLength: 4096 }), Type.Number(), Type.Boolean(), Type.Null()]),
        { additionalProperties: false, maxProperties: 16 },
      ),
    ),
  },
  { title: 'ReportedAuditEvent' },
)

export const ingestAuditEvents = endpoint({
  method: 'POST',
  path: '/v1/audit/ingest',
  summary: `What gateways put on record; an event_id of a gateway counts once for ${ingestion.rememberedDays} days, however often it is sent; ${ingestion.eventsPerMinute.toLocaleString('en')} events a minute, a tenth of it at once`,
  access: { by: ['gateway'], permission: 'own' },
  audit: 'audit.ingested',
  records: 'refusals',
  bodyNames: 30_000,
  judgesTexts: true,
  body: Closed({ events: Type.Array(ReportedEvent, { minItems: 1, maxItems: 1000 }) }),
  response: Closed({ accepted: Count, duplicate: Duplicate, rejected: Rejected }),
})
