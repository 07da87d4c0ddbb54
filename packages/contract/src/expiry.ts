import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { expiryDays } from './limits.ts'
import { Closed, Count, List, Nullable, OneOf, pageQuery, Time } from './schema.ts'
import { expiryStatuses, expiryTypes } from './vocabulary.ts'

const ExpiryType = OneOf(expiryTypes)
const Status = OneOf(expiryStatuses, {
  description: `expired; critical: within a day; warning: within ${expiryDays.warning} days; ok: later, or nobody has to do anything`,
})

export const Expiry = Closed(
  {
    type: ExpiryType,
    id: Type.String({
      description:
        'Of the key, gateway, provider, signer or license; version of a trust set; SHA-256 fingerprint of a TLS certificate',
    }),
    name: Type.String(),
    since: Time,
    expires_at: Time,
    days_left: Type.Integer({ description: 'Whole days; negative once it is over' }),
    status: Status,
    renews_itself: Type.Boolean({
      description:
        'No action is needed: it is renewed in time, was replaced, or ends with something else. False once that is overdue',
    }),
  },
  { title: 'Expiry' },
)
export type Expiry = Static<typeof Expiry>

const Summary = Closed(
  {
    expired: Count,
    critical: Count,
    warning: Count,
    ok: Count,
    spcs: Type.Array(Closed({ day: Type.String({ format: 'date', description: 'UTC' }), count: Count }), {
      description:
        'Number of device certificates in use that expire on each day, unless their devices rotate them before',
    }),
  },
  { title: 'ExpirySummary', description: 'Over all items, independent of the filter; only with the first page' },
)

export const listExpiries = endpoint({
  method: 'GET',
  path: '/v1/admin/certs/expiry',
  summary:
    'Everything that expires, soonest first: certificates, keys, secrets, CRLs; in the tenant that administers the deployment also the license and the TLS certificate',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  query: Closed({
    ...pageQuery,
    type: Type.Optional(ExpiryType),
    status: Type.Optional(Status),
    within_days: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 36_500,
        description: 'Only items that expire before this time or have expired',
      }),
    ),
    renews_itself: Type.Optional(Type.Boolean({ description: 'false: only items that a person must renew' })),
  }),
  response: Closed({
    ...List(Expiry).properties,
    summary: Nullable(Summary),
  }),
})
