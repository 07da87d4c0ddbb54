import { Type } from 'typebox'
import { Channel } from './devices.ts'
import { endpoint } from './endpoint.ts'
import { usageSteps } from './entitlement.ts'
import { Expiry } from './expiry.ts'
import { usageDays } from './limits.ts'
import { Bytes, Closed, Count, Id, List, Nullable, OneOf, pageQuery, Time } from './schema.ts'
import { entitlementMetrics, entitlementStates } from './vocabulary.ts'

const access = { by: ['session', 'api_key'], permission: 'operations:read' } as const
/** Limit of a count that has to read rows. Above it this number is returned. */
export const countedUpTo = 10_000
const UpTo = Type.Integer({ minimum: 0, maximum: countedUpTo, description: 'Counted up to 10,000' })

const MetricsStep = Closed(
  {
    at: Time,
    rx_bytes: Bytes,
    tx_bytes: Bytes,
    sessions_started: Count,
    sessions: Type.Integer({ minimum: 0, description: 'The most VPN sessions at once' }),
    enrollments: Count,
    logins_failed: Count,
    refused: Type.Integer({ minimum: 0, description: 'Requests on record that were refused' }),
  },
  { title: 'MetricsStep' },
)
const Series = Type.Array(MetricsStep)

const ChannelAdoption = Closed(
  {
    channel: Channel,
    version: Count,
    digest: Type.String(),
    published_at: Time,
    devices: Closed({ applied: Count, pending: Count }),
    gateways: Closed(
      { applied: Count, pending: Count },
      { description: 'Of those that have ever reported; `applied`: what they enforce is as new as this version' },
    ),
  },
  { title: 'ChannelAdoption' },
)

export const dashboardOverview = endpoint({
  method: 'GET',
  path: '/v1/admin/dashboard/overview',
  summary: 'Data for the first page of a console, at most some seconds old; slowly changing values one or two minutes',
  access,
  etag: true,
  response: Closed(
    {
      devices: Closed({
        status: Closed({ pending: Count, active: Count, suspended: Count, revoked: UpTo }),
        effective_status: Closed(
          {
            active: Count,
            pending: Count,
            suspended: Count,
            locked: Count,
            user_suspended: Count,
            user_deleted: Count,
            expired: Count,
            revoked: UpTo,
          },
          { description: 'The same devices by effective status' },
        ),
        posture: Closed(
          { compliant: Count, non_compliant: Count, unknown: Count },
          { description: 'Of those that are not revoked' },
        ),
      }),
      users: Closed({ active: Count, suspended: UpTo }),
      gateways: Closed({
        status: Closed({
          healthy: Count,
          degraded: Count,
          draining: Count,
          down: Count,
          never_seen: Count,
          pending: Count,
        }),
      }),
      sessions: Closed({ active: Count }),
      policy: Type.Array(ChannelAdoption, {
        description: 'Delivered version of each channel and its adoption; a canary only while it is active',
      }),
      logins: Closed({ failed_24h: Count }),
      alerts: Closed({ info: UpTo, warning: UpTo, critical: UpTo }, { description: 'Notifications that are open' }),
      expiring: Closed({
        expired: Count,
        critical: Count,
        warning: Count,
        soonest: Type.Array(Expiry, { description: 'Items that a person must renew, most urgent first; at most five' }),
      }),
      usage: Type.Array(
        Closed(
          {
            metric: OneOf(entitlementMetrics),
            used: Type.Number({ minimum: 0 }),
            limit: Nullable(Count),
            state: OneOf(entitlementStates),
          },
          { title: 'UsageAgainstLimit' },
        ),
      ),
      series: Series,
    },
    { title: 'Overview' },
  ),
})

const PendingAdoption = Closed(
  {
    type: OneOf(['gateway', 'device']),
    id: Type.String(),
    name: Type.String(),
    applied_digest: Nullable(Type.String({ description: 'Of the policy that it says it applies' })),
    applied_at: Nullable(Time),
    last_seen_at: Nullable(Time),
  },
  { title: 'PendingAdoption' },
)

export const listPendingAdoption = endpoint({
  method: 'GET',
  path: '/v1/admin/policy/{bundle_id}/pending',
  costly: true,
  summary: 'Gateways and devices that have not confirmed a delivered version',
  access,
  params: Closed({ bundle_id: Id('policy_bundle') }),
  query: Closed(pageQuery),
  response: List(PendingAdoption),
})

export const readMetrics = endpoint({
  method: 'GET',
  path: '/v1/admin/metrics',
  costly: true,
  summary: 'Series for charts, by hour or day (UTC): traffic, VPN sessions, enrollments, refusals',
  access,
  query: Closed({
    from: Type.Optional(Time),
    to: Type.Optional(Time),
    step: Type.Optional(
      OneOf(usageSteps, {
        description: `Default: \`day\`; at most ${usageDays.hour} days by hour, ${usageDays.day} days by day`,
      }),
    ),
  }),
  response: Closed({ from: Time, to: Time, step: OneOf(usageSteps), series: Series }, { title: 'Metrics' }),
})
