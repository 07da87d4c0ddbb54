import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { deadLetterDays, previousSecretHours } from './limits.ts'
import {
  Closed,
  Count,
  Id,
  List,
  ListQuery,
  Name,
  Nullable,
  OneOf,
  Partial,
  Secret,
  SecretToKeep,
  Shown,
  Time,
  WasChanged,
} from './schema.ts'
import { siemConnectorKinds, siemConnectorStates, siemFormats } from './vocabulary.ts'

const fields = {
  name: Name,
  enabled: Type.Boolean({ description: 'True: events are sent. Setting false also ends a running delivery' }),
  format: OneOf(siemFormats, { description: 'Format of each event' }),
  host: Nullable(
    Type.String({ minLength: 1, maxLength: 253, description: 'For syslog: name or address of the receiver' }),
  ),
  port: Nullable(
    Type.Integer({ minimum: 1, maximum: 65_535, description: 'For syslog: port. Default: 6514 with TLS' }),
  ),
  index: Nullable(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]*$',
      description:
        'For opensearch: index, alias or data stream; required. For splunk_hec: index. Default: that of the token',
    }),
  ),
  username: Nullable(
    Type.String({
      minLength: 1,
      maxLength: 256,
      pattern: '^[^:\\x00-\\x1f]+$',
      description: 'For opensearch: user whose password is `credential`; null: `credential` is an API key',
    }),
  ),
  bom: Nullable(
    Type.Boolean({
      description:
        'For syslog: true puts a byte order mark before the text (RFC 5424 §6.4). Without it JSON is ASCII with \\u escapes. Default: true only for cef',
    }),
  ),
  tls: Closed({
    ca_pem: Nullable(
      Type.String({
        minLength: 1,
        maxLength: 65_536,
        description: 'Certificates (PEM) that are trusted instead of the public authorities',
      }),
    ),
    server_name: Nullable(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: 'Name in the certificate, if it differs from the host',
      }),
    ),
  }),
}

const Delivery = Closed({
  state: OneOf(siemConnectorStates, {
    description:
      '`retrying`: the server retries. `parked`: the delivery continues after a change, a successful test, a replay, or when the blocking event is set aside',
  }),
  problem: Nullable(Type.String({ description: 'Reason of the problem, as a sentence' })),
  delivered_seq: Type.Integer({
    minimum: 0,
    description: 'All events up to this sequence number were delivered or are dead letters',
  }),
  next_seq: Nullable(
    Type.Integer({
      minimum: 1,
      description:
        'Sequence number of the event that blocks a retrying or parked connector; null: no single event blocks it',
    }),
  ),
  lag_events: Nullable(Count),
  lag_seconds: Nullable(
    Type.Integer({
      minimum: 0,
      description: 'Age of the first undelivered event in seconds; null: disabled',
    }),
  ),
  delivered: Type.Integer({ minimum: 0, description: 'Number of events that the receiver accepted' }),
  failed: Type.Integer({ minimum: 0, description: 'Number of attempts that failed' }),
  dead_letters: Count,
  lost: Type.Integer({
    minimum: 0,
    description: 'Number of events that retention purged before their delivery',
  }),
  last_delivered_at: Nullable(Time),
  failing_since: Nullable(Time),
  next_attempt_at: Nullable(Time),
})

export const SiemConnector = Closed(
  {
    connector_id: Id('siem_connector'),
    tenant_id: Id('tenant'),
    kind: OneOf(siemConnectorKinds),
    ...fields,
    origin: Nullable(
      Type.String({ description: 'Host of the URL. The URL is not shown, because it may contain a secret' }),
    ),
    credential_set: Type.Boolean({ description: 'True: a credential is stored' }),
    previous_credential_until: Nullable(Time),
    delivery: Delivery,
    created_at: Time,
    updated_at: Time,
  },
  { title: 'SiemConnector' },
)
export type SiemConnector = Static<typeof SiemConnector>

/** Absent in a PUT: unchanged. */
const url = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 2048,
    writeOnly: true,
    description: 'URL of the webhook, the collector (splunk_hec) or the cluster (opensearch). Never shown',
  }),
)
const credential = SecretToKeep(
  4096,
  'For webhook the signing secret: `whsec_` and base64 of 24 to 64 bytes; generated if absent. For splunk_hec the token, for opensearch the password or API key. Stored encrypted and never shown. Absent: unchanged; required with another origin or tls. null: none',
)
const keep_previous = Type.Optional(
  Type.Boolean({
    writeOnly: true,
    description: `For webhook: true (default) also signs with the previous secret for ${previousSecretHours} hours after a new one. false ends that at once`,
  }),
)
const { name, format, ...optional } = fields
/** Absent in a PUT: unchanged, because clients of an earlier version do not know it. */
const { bom, ...known } = fields

const reads = { by: ['session', 'api_key'], permission: 'siem:read' } as const
const writes = { by: ['session', 'api_key'], permission: 'siem:write' } as const
const params = Closed({ connector_id: Id('siem_connector') })

export const listSiemConnectors = endpoint({
  method: 'GET',
  path: '/v1/admin/siem/connector',
  summary: 'List SIEM connectors',
  description: 'Each has the state of its delivery.',
  access: reads,
  query: ListQuery({}, ['created_at'] as const, 'created_at'),
  response: List(SiemConnector),
})
export const createSiemConnector = endpoint({
  method: 'POST',
  path: '/v1/admin/siem/connector',
  summary: 'Create a SIEM connector',
  description: 'It forwards audit events from the next one on. A replay sends earlier ones.',
  access: writes,
  audit: 'siem_connector.created',
  status: 201,
  stepUp: {},
  body: Closed({
    kind: OneOf(siemConnectorKinds),
    name,
    format,
    url,
    credential,
    ...Partial(Closed(optional)).properties,
  }),
  response: Closed({
    connector: SiemConnector,
    secret: Nullable(Secret),
  }),
})
export const getSiemConnector = endpoint({
  method: 'GET',
  path: '/v1/admin/siem/connector/{connector_id}',
  summary: 'Get a SIEM connector',
  access: reads,
  params,
  response: SiemConnector,
  etag: true,
})
export const updateSiemConnector = endpoint({
  method: 'PUT',
  path: '/v1/admin/siem/connector/{connector_id}',
  summary: 'Replace the settings of a SIEM connector',
  description: 'The body of a GET may be sent back unchanged.',
  access: writes,
  audit: 'siem_connector.updated',
  stepUp: {},
  params,
  body: Closed({ ...Shown(SiemConnector), ...known, bom: Type.Optional(bom), url, credential, keep_previous }),
  response: SiemConnector,
  ifMatch: true,
})
export const deleteSiemConnector = endpoint({
  method: 'DELETE',
  path: '/v1/admin/siem/connector/{connector_id}',
  summary: 'Delete a SIEM connector',
  description: 'Its undelivered events and dead letters are discarded.',
  access: writes,
  audit: 'siem_connector.deleted',
  stepUp: {},
  params,
  response: Closed({ changed: WasChanged }),
  ifMatch: true,
})
export const testSiemConnector = endpoint({
  method: 'POST',
  path: '/v1/admin/siem/connector/{connector_id}/test',
  summary: 'Test a SIEM connector',
  description:
    'The connector sends one test event now. The answer has that of the receiver. A parked connector continues after a success.',
  access: writes,
  audit: 'siem_connector.tested',
  costly: true,
  patience: 60,
  params,
  response: Closed({
    ok: Type.Boolean({ description: 'True: the receiver accepted the event' }),
    answer: Type.String({ description: 'Answer of the receiver, as a sentence' }),
    milliseconds: Count,
  }),
})
export const replaySiemConnector = endpoint({
  method: 'POST',
  path: '/v1/admin/siem/connector/{connector_id}/replay',
  summary: 'Send audit events again',
  description:
    'The events are all from a sequence number or a time on, in order, or dead letters. The body has exactly one of the three.',
  access: writes,
  audit: 'siem_connector.replayed',
  params,
  body: Closed({
    from_seq: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    from: Type.Optional(Time),
    dead_letters: Type.Optional(
      Type.Union([
        Type.Literal('all'),
        Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
          minItems: 1,
          maxItems: 200,
          uniqueItems: true,
          description: 'Sequence numbers of the dead letters',
        }),
      ]),
    ),
  }),
  response: Closed({
    connector: SiemConnector,
    events: Type.Integer({ minimum: 0, description: 'Number of events that are sent again' }),
  }),
})

export const setAsideSiemEvent = endpoint({
  method: 'POST',
  path: '/v1/admin/siem/connector/{connector_id}/set-aside',
  summary: 'Set aside the event that blocks a connector',
  description: 'The event becomes a dead letter, and the connector continues after it.',
  access: writes,
  audit: 'siem_connector.set_aside',
  params,
  body: Closed({
    seq: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Sequence number of the event. It must be the next event to be sent',
    }),
  }),
  response: Closed({ connector: SiemConnector, changed: WasChanged }),
})

export const SiemDeadLetter = Closed(
  {
    seq: Type.Integer({ minimum: 1 }),
    event_id: Id('audit_event'),
    kind: Type.String(),
    reason: Type.String({ description: 'Reason of the receiver, or a note that an administrator set the event aside' }),
    failed_at: Time,
    replaying: Type.Boolean({ description: 'True: a replay sends the event again' }),
  },
  { title: 'SiemDeadLetter' },
)
export const listSiemDeadLetters = endpoint({
  method: 'GET',
  path: '/v1/admin/siem/connector/{connector_id}/dead-letters',
  summary: 'List the dead letters of a SIEM connector',
  description: `Dead letters are events that the receiver refused. They are kept for ${deadLetterDays} days.`,
  access: reads,
  params,
  query: ListQuery({}, ['seq'] as const, 'seq'),
  response: List(SiemDeadLetter),
})
