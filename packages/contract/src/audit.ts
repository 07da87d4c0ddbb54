import { Type } from 'typebox'
import { auditFieldTypes, auditKinds, reportedKinds } from './audit-fields.ts'
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
    Type.Optional({ ...fieldSchemas[type], description: `Only in events of these kinds: ${kinds.join(', ')}` }),
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
    seq: Type.Integer({
      minimum: 1,
      description: 'Sequence number in the audit log of the tenant, in the order of commits',
    }),
    hash: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description:
        'SHA-256 of 0x00, the previous hash (32 zeros before the first), seq in 8 bytes and this event without seq and hash (RFC 8785)',
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
        description: 'Further fields, which depend on the kind',
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
      description:
        'Only events of these kinds, separated by commas. `login.*` means all kinds with this beginning. Example: `login.*,account.locked`',
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
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Only events of this operation, such as `listUsers` or `suspend`',
    }),
  ),
  reason: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Only events with this `reason` or `failure_reason`, such as `wrong_password` or `forbidden`',
    }),
  ),
  username: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description:
        'Only sign-ins with this username that failed or were throttled. Upper and lower case of ASCII letters are equal',
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
        'Only events whose JSON contains each of these terms, which spaces separate. Upper and lower case of ASCII letters are equal. A word at the beginning or end of a term must be a whole word',
    }),
  ),
}

export const listAuditEvents = endpoint({
  method: 'GET',
  path: '/v1/audit/events',
  costly: true,
  summary: 'List audit events',
  description:
    'A page may be short or empty while there is a next one. A poller uses `sort=seq` and continues with `after_seq`.',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  query: ListQuery(
    {
      ...filters,
      after_seq: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Only events with a higher sequence number',
        }),
      ),
    },
    ['timestamp', 'seq'] as const,
    '-timestamp',
  ),
  response: List(AuditEvent),
})

export const getAuditEvent = endpoint({
  method: 'GET',
  path: '/v1/audit/events/{event_id}',
  summary: 'Get an audit event',
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
        value: Type.String({
          description: 'Value for the filter of the same name: a kind, the id of an actor, an origin or an outcome',
        }),
        name: Nullable(Type.String({ description: 'Name of an actor in its newest event among these' })),
        count: Count,
        buckets: Type.Array(Count, { description: 'The same count by bucket' }),
      }),
      { description: 'Values with most events first; at most 50' },
    ),
    other: Type.Integer({ minimum: 0, description: 'Events with a value that is not listed, or with none' }),
  },
  { title: 'AuditFacet' },
)

export const auditHistogram = endpoint({
  method: 'GET',
  path: '/v1/audit/histogram',
  costly: true,
  summary: 'Count audit events over time',
  description: 'The filters are those of the list. By default the period is the last 24 hours.',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  query: Closed({
    ...filters,
    buckets: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default: 24' })),
    facets: Type.Optional(
      Type.String({
        maxLength: 64,
        pattern: '^(kind|actor|origin|outcome)(,(kind|actor|origin|outcome)){0,3}$',
        description: 'Fields by which events are also counted, separated by commas: `kind,actor,origin,outcome`',
      }),
    ),
  }),
  response: Closed({
    from: Time,
    to: Time,
    estimated: Type.Boolean({
      description: 'True: the counts are estimates, from a sample that is spread evenly over each bucket',
    }),
    buckets: Type.Array(Closed({ from: Time, count: Count }), {
      description: 'Steps of the period, oldest first. All have the same length',
    }),
    facets: Type.Array(Facet, { description: 'One entry for each requested facet, in that order' }),
  }),
})

/** An event that a gateway observed. Texts are cut after 512 characters. */
const ReportedEvent = Closed(
  {
    event_id: Type.String({
      minLength: 1,
      maxLength: 64,
      description: `Unique id that the gateway creates. A repetition within ${ingestion.rememberedDays} days changes nothing`,
    }),
    // Another kind rejects its event alone: a newer gateway may report kinds that this server does not know.
    kind: Type.Union([OneOf(reportedKinds), Type.String({ maxLength: 64 })], {
      description: 'Kind of the event. An event of a kind that is not in the enumeration is returned in `rejected`',
    }),
    at: Type.String({ maxLength: 40, description: "By the gateway's clock, which may be wrong (RFC 3339)" }),
    outcome: Type.Optional(Outcome),
    target: Type.Optional(
      Closed(
        {
          type: Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z][a-z0-9_]*$' }),
          id: Type.Optional(
            Type.String({ maxLength: 64, description: 'Id of the target. Filters compare it exactly' }),
          ),
          name: Type.Optional(Type.String({ maxLength: 4096 })),
        },
        { description: 'Object of the event, as the gateway reports it' },
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
  summary: 'Report audit events of a gateway',
  description: `A repeated \`event_id\` of a gateway changes nothing for ${ingestion.rememberedDays} days. A gateway may report at most ${ingestion.eventsPerMinute.toLocaleString('en')} events a minute, in bursts of a tenth.`,
  access: { by: ['gateway'], permission: 'own' },
  audit: 'audit.ingested',
  records: 'refusals',
  bodyNames: 30_000,
  judgesTexts: true,
  body: Closed({ events: Type.Array(ReportedEvent, { minItems: 1, maxItems: 1000 }) }),
  response: Closed({ accepted: Count, duplicate: Duplicate, rejected: Rejected }),
})
