import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { expiryDays } from './limits.ts'
import { Closed, Count, List, Nullable, OneOf, pageQuery, Time } from './schema.ts'
import { expiryStatuses, expiryTypes } from './vocabulary.ts'

const ExpiryType = OneOf(expiryTypes)
const Status = OneOf(expiryStatuses, {
  description: `\`critical\`: expires within a day. \`warning\`: expires within ${expiryDays.warning} days. \`ok\`: expires later, or needs no action`,
})

export const Expiry = Closed(
  {
    type: ExpiryType,
    id: Type.String({
      description:
        'Id of the key, gateway, provider, signer or license. For a trust set its version, for a TLS certificate its SHA-256 fingerprint',
    }),
    name: Type.String(),
    since: Time,
    expires_at: Time,
    days_left: Type.Integer({ description: 'Whole days until the end; negative after it' }),
    status: Status,
    renews_itself: Type.Boolean({
      description:
        'True: no action is needed, because the item is renewed in time, was replaced, or ends with another object. False once that is overdue',
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
  { title: 'ExpirySummary', description: 'Counts of all items, without the filter; only with the first page' },
)

export const listExpiries = endpoint({
  method: 'GET',
  path: '/v1/admin/certs/expiry',
  summary: 'List expiring objects',
  description:
    'The soonest is first. The list has certificates, keys, secrets and CRLs. In the tenant that administers the deployment it also has the license and the TLS certificate.',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  query: Closed({
    ...pageQuery,
    type: Type.Optional(ExpiryType),
    status: Type.Optional(Status),
    within_days: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 36_500,
        description: 'Only items that expire within this number of days, or have expired',
      }),
    ),
    renews_itself: Type.Optional(
      Type.Boolean({ description: 'false: only items that a person must renew. true: only others' }),
    ),
  }),
  response: Closed({
    ...List(Expiry).properties,
    summary: Nullable(Summary),
  }),
})
