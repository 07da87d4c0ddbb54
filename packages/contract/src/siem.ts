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
} from './schema.ts'
import { siemConnectorKinds, siemConnectorStates, siemFormats } from './vocabulary.ts'

const fields = {
  name: Name,
  enabled: Type.Boolean({ description: 'Whether events are sent; false also ends a running delivery' }),
  format: OneOf(siemFormats, { description: 'How each event is written' }),
  host: Nullable(Type.String({ minLength: 1, maxLength: 253, description: 'syslog: a name or an address' })),
  port: Nullable(Type.Integer({ minimum: 1, maximum: 65_535, description: 'syslog: port; default: 6514 with TLS' })),
  index: Nullable(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]*$',
      description:
        'opensearch: the index, alias or data stream, which is required; splunk_hec: the index; default: that of the token',
    }),
  ),
  username: Nullable(
    Type.String({
      minLength: 1,
      maxLength: 256,
      pattern: '^[^:\\x00-\\x1f]+$',
      description: 'opensearch: credential is the password; null: it is an API key',
    }),
  ),
  bom: Nullable(
    Type.Boolean({
      description:
        'syslog: whether a byte order mark stands before the text (RFC 5424 §6.4). Without it JSON is ASCII, other characters as \\u escapes. Default: true only for cef',
    }),
  ),
  tls: Closed({
    ca_pem: Nullable(
      Type.String({ minLength: 1, maxLength: 65_536, description: 'Trusted instead of the public authorities' }),
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
      'retrying: retried automatically; parked: continues after a change, a successful test, a replay, or when the blocking event is set aside',
  }),
  problem: Nullable(Type.String({ description: 'Reason of the problem, as a sentence' })),
  delivered_seq: Type.Integer({
    minimum: 0,
    description: 'All events up to this sequence number were delivered or are dead letters',
  }),
  next_seq: Nullable(
    Type.Integer({
      minimum: 1,
      description: 'The event that blocks it: retrying or parked, once events are sent one by one; null: otherwise',
    }),
  ),
  lag_events: Nullable(Count),
  lag_seconds: Nullable(
    Type.Integer({
      minimum: 0,
      description: 'Age of the first undelivered event; null: disabled, as lag_events is',
    }),
  ),
  delivered: Type.Integer({ minimum: 0, description: 'Events that were taken' }),
  failed: Type.Integer({ minimum: 0, description: 'Attempts that failed' }),
  dead_letters: Count,
  lost: Type.Integer({
    minimum: 0,
    description: 'Events that were purged by retention before they were delivered',
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
      Type.String({ description: 'Host of the URL, which is not shown because it may contain a secret' }),
    ),
    credential_set: Type.Boolean(),
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
    description: 'webhook: where to POST; splunk_hec: of the collector; opensearch: of the cluster. Never shown',
  }),
)
const credential = SecretToKeep(
  4096,
  'webhook: signs, whsec_ and base64 of 24 to 64 bytes, made here where absent; splunk_hec: the token; opensearch: password or API key. Stored encrypted and never shown; absent: unchanged, not allowed with another origin or tls; null: none',
)
const keep_previous = Type.Optional(
  Type.Boolean({
    writeOnly: true,
    description: `webhook: true (default): the previous secret also signs for ${previousSecretHours} hours beside a new one; false ends that at once`,
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
  summary: 'List the connectors that forward audit events, with the state of delivery',
  access: reads,
  query: ListQuery({}, ['created_at'] as const),
  response: List(SiemConnector),
})
export const createSiemConnector = endpoint({
  method: 'POST',
  path: '/v1/admin/siem/connector',
  summary: 'Forward audit events, from the next one on; earlier ones by a replay',
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
  summary: 'One of them',
  access: reads,
  params,
  response: SiemConnector,
  etag: true,
})
export const updateSiemConnector = endpoint({
  method: 'PUT',
  path: '/v1/admin/siem/connector/{connector_id}',
  summary: 'Replace its settings; the body of a GET may be sent back unchanged',
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
  summary: 'Delete a connector; its undelivered events and dead letters are discarded',
  access: writes,
  audit: 'siem_connector.deleted',
  stepUp: {},
  params,
  response: Closed({ changed: Type.Boolean() }),
  ifMatch: true,
})
export const testSiemConnector = endpoint({
  method: 'POST',
  path: '/v1/admin/siem/connector/{connector_id}/test',
  summary:
    'Send one test event now and return the answer of the receiver; a parked connector continues after a success',
  access: writes,
  audit: 'siem_connector.tested',
  costly: true,
  patience: 60,
  params,
  response: Closed({
    ok: Type.Boolean(),
    answer: Type.String({ description: 'Answer of the receiver, as a sentence' }),
    milliseconds: Count,
  }),
})
export const replaySiemConnector = endpoint({
  method: 'POST',
  path: '/v1/admin/siem/connector/{connector_id}/replay',
  summary:
    'Send events again: all from a sequence number or a time on, in order, or dead letters; exactly one of the three',
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
          description: 'Their places',
        }),
      ]),
    ),
  }),
  response: Closed({ connector: SiemConnector, events: Type.Integer({ minimum: 0, description: 'Sent again' }) }),
})

export const setAsideSiemEvent = endpoint({
  method: 'POST',
  path: '/v1/admin/siem/connector/{connector_id}/set-aside',
  summary: 'Make a dead letter of the event that blocks a connector, and continue after it',
  access: writes,
  audit: 'siem_connector.set_aside',
  params,
  body: Closed({
    seq: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Its sequence number; must be that of the next event to be sent',
    }),
  }),
  response: Closed({ connector: SiemConnector, changed: Type.Boolean() }),
})

export const SiemDeadLetter = Closed(
  {
    seq: Type.Integer({ minimum: 1 }),
    event_id: Id('audit_event'),
    kind: Type.String(),
    reason: Type.String({ description: 'Reason of the receiver, or note that an administrator set it aside' }),
    failed_at: Time,
    replaying: Type.Boolean(),
  },
  { title: 'SiemDeadLetter' },
)
export const listSiemDeadLetters = endpoint({
  method: 'GET',
  path: '/v1/admin/siem/connector/{connector_id}/dead-letters',
  summary: `Events that the receiver refused; kept ${deadLetterDays} days`,
  access: reads,
  params,
  query: ListQuery({}, ['seq'] as const),
  response: List(SiemDeadLetter),
})
