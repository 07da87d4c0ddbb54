import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Id, List, ListQuery, Nullable, OneOf, Party, Shown, Time } from './schema.ts'
import { type RetentionClass, retentionClasses, retentionSources } from './vocabulary.ts'

const Class = OneOf(retentionClasses, { title: 'RetentionClass' })
const longest = 36_500

const ofClass = (minimum: number) =>
  Nullable(Type.Integer({ minimum, maximum: longest, description: 'Days; null for as long as the deployment says' }))
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
    days: Nullable(Type.Integer({ description: 'Days of retention; null: for good' })),
    source: OneOf(retentionSources),
    min_days: Type.Integer({ description: 'Minimum that the tenant may set' }),
    max_days: Nullable(Type.Integer({ description: 'Maximum that the tenant may set; null: no maximum' })),
    oldest: Nullable(Time),
    rows: Type.Integer(),
    rows_are: OneOf(['counted', 'estimated']),
    bytes: Type.Integer({ description: 'Always an estimate' }),
    over: Type.Integer({
      maximum: 10_000,
      description: 'Rows that are older and that no hold keeps: they go next. Counted up to 10,000',
    }),
    last_purge: Nullable(
      Closed({
        at: Time,
        up_to: Time,
        count: Type.Integer({ description: 'Rows that were deleted; a month that was dropped is not counted' }),
      }),
    ),
    next_purge: Nullable(Type.String({ format: 'date-time', description: 'Null while nothing may go' })),
    legal_hold: OneOf(['none', 'partial', 'all'], {
      description: 'partial: what a user or a device is in; all: nothing of the class goes',
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
        description: 'Nothing is purged before this time, since a period was shortened recently',
      }),
    ),
    clock_trusted_from: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Nothing is purged before this time, since the clock jumped or is wrong, or a backup was restored',
      }),
    ),
    record_begins_after: Nullable(
      Closed({
        seq: Type.Integer(),
        hash: Type.String({
          pattern: '^[0-9a-f]{64}$',
          description: 'Its hash, from which the chain continues',
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
  summary: 'How long each class of data is kept, how much there is of it, and what was purged',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  response: Retention,
  etag: true,
})

export const updateRetention = endpoint({
  method: 'PUT',
  path: '/v1/admin/compliance/retention',
  summary: 'Replace the retention settings; a shorter period takes effect after 24 hours',
  access: { by: ['session', 'api_key'], permission: 'audit:write' },
  audit: 'retention.updated',
  stepUp: {},
  body: Closed({
    ...shown,
    days: Days,
    dry_run: Type.Optional(
      Type.Boolean({
        description: 'Returns the result, with the data that would be purged (over), and changes nothing',
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
    classes: Type.Array(Class, { description: 'Empty for all' }),
    user_id: Nullable(Id('user')),
    device_id: Nullable(Id('device')),
    subject_name: Nullable(Type.String({ description: 'Name of the user or device at that time' })),
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
  summary: 'Legal holds, released ones too, newest first by default',
  access: { by: ['session', 'api_key'], permission: 'audit:read' },
  query: ListQuery({}, ['placed_at'] as const),
  response: List(LegalHold),
})

const Reason = Type.String({ minLength: 1, maxLength: 512 })

export const placeLegalHold = endpoint({
  method: 'POST',
  path: '/v1/admin/compliance/legal-holds',
  summary: 'Place a legal hold: after the answer nothing that it covers is purged',
  access: { by: ['session', 'api_key'], permission: 'audit:write' },
  audit: 'legal_hold.placed',
  stepUp: {},
  body: Closed({
    reason: Reason,
    classes: Type.Optional(
      Type.Array(Class, {
        uniqueItems: true,
        maxItems: retentionClasses.length,
        description: 'Empty or absent for all',
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
  summary: 'Release a legal hold: a day later what it covered may be purged',
  access: { by: ['session', 'api_key'], permission: 'audit:write' },
  audit: 'legal_hold.released',
  stepUp: {},
  params: Closed({ legal_hold_id: Id('legal_hold') }),
  body: Closed({ reason: Reason }),
  response: Closed({ legal_hold: LegalHold, changed: Type.Boolean() }),
})
