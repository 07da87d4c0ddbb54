import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Id, List, ListQuery, Nullable, OneOf, Party, Shown, Time, WasChanged } from './schema.ts'
import { type RetentionClass, retentionClasses, retentionSources } from './vocabulary.ts'

const Class = OneOf(retentionClasses, { title: 'RetentionClass' })
const longest = 36_500

const ofClass = (minimum: number) =>
  Nullable(
    Type.Integer({ minimum, maximum: longest, description: 'Retention in days; null: the period of the deployment' }),
  )
const days = {
  audit: ofClass(30),
  vpn_sessions: ofClass(7),
  telemetry: ofClass(7),
  metering: ofClass(7),
  admin_sessions: ofClass(7),
  notifications: ofClass(7),
  policy: ofClass(7),
  enrollment_tokens: ofClass(7),
  revoked_devices: ofClass(7),
} satisfies Record<RetentionClass, unknown>
/** Periods that a tenant sets. */
const Days = Closed(days, { title: 'RetentionDays' })
export type RetentionDays = Static<typeof Days>

const ClassStatus = Closed(
  {
    class: Class,
    days: Nullable(Type.Integer({ description: 'Retention in days; null: unlimited' })),
    source: OneOf(retentionSources),
    min_days: Type.Integer({ description: 'Lowest number of days that the tenant may set' }),
    max_days: Nullable(Type.Integer({ description: 'Highest number of days that the tenant may set; null: no limit' })),
    oldest: Nullable(Time),
    rows: Type.Integer(),
    rows_are: OneOf(['counted', 'estimated']),
    bytes: Type.Integer({ description: 'Estimated size in bytes' }),
    over: Type.Integer({
      maximum: 10_000,
      description: 'Number of older rows without a legal hold. They are purged next. Counted up to 10,000',
    }),
    last_purge: Nullable(
      Closed({
        at: Time,
        up_to: Time,
        count: Type.Integer({ description: 'Number of deleted rows. Rows of dropped months are not counted' }),
      }),
    ),
    next_purge: Nullable(
      Type.String({ format: 'date-time', description: 'Time of the next purge; null while nothing may be purged' }),
    ),
    legal_hold: OneOf(['none', 'partial', 'all'], {
      description: '`partial`: a hold keeps the rows of a user or a device. `all`: a hold keeps the whole class',
    }),
  },
  { title: 'RetentionClassStatus' },
)

export const Retention = Closed(
  {
    days: Days,
    settles_at: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Nothing is purged before this time, because a period was shortened recently',
      }),
    ),
    clock_trusted_from: Nullable(
      Type.String({
        format: 'date-time',
        description:
          'Nothing is purged before this time, because the clock jumped or is wrong, or a backup was restored',
      }),
    ),
    record_begins_after: Nullable(
      Closed({
        seq: Type.Integer(),
        hash: Type.String({
          pattern: '^[0-9a-f]{64}$',
          description: 'Hash from which the chain continues',
        }),
      }),
    ),
    classes: Type.Array(ClassStatus),
  },
  { title: 'Retention' },
)
const shown = Shown(Retention)

export const getRetention = endpoint({
  method: 'GET',
  path: '/v1/admin/compliance/retention',
  costly: true,
  summary: 'Get the retention of each class of data',
  description: 'The answer has the periods, the amounts, and the last purges.',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  response: Retention,
  etag: true,
})

export const updateRetention = endpoint({
  method: 'PUT',
  path: '/v1/admin/compliance/retention',
  summary: 'Replace the retention settings',
  description: 'A shorter period takes effect after 24 hours.',
  access: { by: ['session', 'api_key'], permission: 'audit:write' },
  audit: 'retention.updated',
  stepUp: {},
  body: Closed({
    ...shown,
    days: Days,
    dry_run: Type.Optional(
      Type.Boolean({
        description: 'True: returns the result with the data that would be purged (`over`), and changes nothing',
      }),
    ),
  }),
  response: Retention,
  ifMatch: true,
})

export const LegalHold = Closed(
  {
    legal_hold_id: Id('legal_hold'),
    reason: Type.String(),
    classes: Type.Array(Class, { description: 'Held classes of data; empty: all' }),
    user_id: Nullable(Id('user')),
    device_id: Nullable(Id('device')),
    subject_name: Nullable(Type.String({ description: 'Name of the user or device when the hold was placed' })),
    placed_at: Time,
    placed_by: Party,
    released_at: Nullable(Time),
    released_by: Nullable(Party),
    release_reason: Nullable(Type.String()),
  },
  { title: 'LegalHold' },
)

export const listLegalHolds = endpoint({
  method: 'GET',
  path: '/v1/admin/compliance/legal-holds',
  summary: 'List legal holds',
  description: 'The list includes released ones.',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  query: ListQuery({}, ['placed_at'] as const, '-placed_at'),
  response: List(LegalHold),
})

const Reason = Type.String({ minLength: 1, maxLength: 512 })

export const placeLegalHold = endpoint({
  method: 'POST',
  path: '/v1/admin/compliance/legal-holds',
  summary: 'Place a legal hold',
  description: 'After the answer the server purges nothing that the hold covers.',
  access: { by: ['session', 'api_key'], permission: 'audit:write' },
  audit: 'legal_hold.placed',
  stepUp: {},
  body: Closed({
    reason: Reason,
    classes: Type.Optional(
      Type.Array(Class, {
        uniqueItems: true,
        maxItems: retentionClasses.length,
        description: 'Held classes of data; empty or absent: all',
      }),
    ),
    user_id: Type.Optional(Id('user')),
    device_id: Type.Optional(Id('device')),
  }),
  response: LegalHold,
  status: 201,
})

export const releaseLegalHold = endpoint({
  method: 'POST',
  path: '/v1/admin/compliance/legal-holds/{legal_hold_id}/release',
  summary: 'Release a legal hold',
  description: 'A day later the server may purge the data that the hold covered.',
  access: { by: ['session', 'api_key'], permission: 'audit:write' },
  audit: 'legal_hold.released',
  stepUp: {},
  params: Closed({ legal_hold_id: Id('legal_hold') }),
  body: Closed({ reason: Reason }),
  response: Closed({ legal_hold: LegalHold, changed: WasChanged }),
})
