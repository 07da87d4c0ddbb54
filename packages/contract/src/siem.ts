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
  enabled: Type.Boolean({ description: 'Whether events are sent; what is on its way ends with it' }),
  format: OneOf(siemFormats, { description: 'How each event is written' }),
  host: Nullable(Type.String({ minLength: 1, maxLength: 253, description: 'syslog: a name or an address' })),
  port: Nullable(Type.Integer({ minimum: 1, maximum: 65_535, description: 'syslog; 6514 with TLS unless said' })),
  index: Nullable(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]*$',
      description:
        'opensearch: the index, alias or data stream, which it needs; splunk_hec: that of the token unless said',
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
        'syslog: whether a byte order mark stands before the text (RFC 5424 §6.4). Without it JSON is ASCII, other characters as \\u escapes; unless said true for cef only',
    }),
  ),
  tls: Closed({
    ca_pem: Nullable(
      Type.String({ minLength: 1, maxLength: 65_536, description: 'Trusted in place of the public authorities' }),
    ),
    server_name: Nullable(
      Type.String({ minLength: 1, maxLength: 253, description: 'In the certificate, where it is not the host' }),
    ),
  }),
}

const Delivery = Closed({
  state: OneOf(siemConnectorStates, {
    description:
      'retrying: tries again by itself; parked: goes on after a change, a good test, a replay, or when the event it stands on is set aside',
  }),
  problem: Nullable(Type.String({ description: 'What keeps it, as a sentence' })),
  delivered_seq: Type.Integer({
    minimum: 0,
    description: 'Up to this place the record was taken, or is a dead letter',
  }),
  next_seq: Nullable(
    Type.Integer({
      minimum: 1,
      description: 'The event it stands on: retrying or parked, once events are tried one by one; null: otherwise',
    }),
  ),
  lag_events: Nullable(Count),
  lag_seconds: Nullable(
    Type.Integer({
      minimum: 0,
      description: 'How long the first event that is not delivered is on record; null: disabled, as lag_events is',
    }),
  ),
  delivered: Type.Integer({ minimum: 0, description: 'Events that were taken' }),
  failed: Type.Integer({ minimum: 0, description: 'Attempts that failed' }),
  dead_letters: Count,
  lost: Type.Integer({
    minimum: 0,
    description: 'Events that were never taken and are no longer kept: 0 but for retention',
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
    origin: Nullable(Type.String({ description: 'Of the URL, which is not shown: some hold a secret' })),
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
  'webhook: signs, whsec_ and base64 of 24 to 64 bytes, made here where absent; splunk_hec: the token; opensearch: password or API key. Stored encrypted and never shown; absent: as it was, which another origin or tls refuses; null: none',
)
const keep_previous = Type.Optional(
  Type.Boolean({
    writeOnly: true,
    description: `webhook: whether the secret before signs too, for ${previousSecretHours} hours beside a new one: true unless said; false ends that at once`,
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
  summary: 'Where audit events are forwarded to, and how far that is',
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
  summary: 'Replace what is set of it; what a GET showed may be sent back whole',
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
  summary: 'Forward there no more; what it had not delivered and its dead letters are forgotten',
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
  summary: 'Send one test event now and say what the receiver answered; one that is parked goes on if it was taken',
  access: writes,
  audit: 'siem_connector.tested',
  costly: true,
  patience: 60,
  params,
  response: Closed({
    ok: Type.Boolean(),
    answer: Type.String({ description: 'What the receiver did or answered, as a sentence' }),
    milliseconds: Count,
  }),
})
export const replaySiemConnector = endpoint({
  method: 'POST',
  path: '/v1/admin/siem/connector/{connector_id}/replay',
  summary: 'Send again: everything from a place or a time on, in order, or dead letters; exactly one of the three',
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
  summary: 'Keep the event that a connector stands on as a dead letter, and go on behind it',
  access: writes,
  audit: 'siem_connector.set_aside',
  params,
  body: Closed({
    seq: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Its place; must be of the next event to be sent',
    }),
  }),
  response: Closed({ connector: SiemConnector, changed: Type.Boolean() }),
})

export const SiemDeadLetter = Closed(
  {
    seq: Type.Integer({ minimum: 1 }),
    event_id: Id('audit_event'),
    kind: Type.String(),
    reason: Type.String({ description: 'Why the receiver refused it, or that an administrator set it aside' }),
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
