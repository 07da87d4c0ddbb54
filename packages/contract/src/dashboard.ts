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
    sessions: Type.Integer({ minimum: 0, description: 'Highest number of VPN sessions at one time' }),
    enrollments: Count,
    logins_failed: Count,
    refused: Type.Integer({ minimum: 0, description: 'Number of refused requests in the audit log' }),
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
      { description: 'Gateways that have ever reported. `applied`: they enforce this version or a newer one' },
    ),
  },
  { title: 'ChannelAdoption' },
)

export const dashboardOverview = endpoint({
  method: 'GET',
  path: '/v1/admin/dashboard/overview',
  summary: 'Get the overview of the fleet',
  description: 'The data are at most some seconds old, and slowly changing values one or two minutes.',
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
          { description: 'Devices that are not revoked, by verdict' },
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
        description: 'Delivered version of each channel and its adoption. A canary is present only while it is active',
      }),
      logins: Closed({ failed_24h: Count }),
      alerts: Closed({ info: UpTo, warning: UpTo, critical: UpTo }, { description: 'Notifications that are open' }),
      expiring: Closed({
        expired: Count,
        critical: Count,
        warning: Count,
        soonest: Type.Array(Expiry, { description: 'Items that a person must renew, soonest first; at most five' }),
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
    applied_digest: Nullable(Type.String({ description: 'Digest of the policy that it reports as applied' })),
    applied_at: Nullable(Time),
    last_seen_at: Nullable(Time),
  },
  { title: 'PendingAdoption' },
)

export const listPendingAdoption = endpoint({
  method: 'GET',
  path: '/v1/admin/policy/{bundle_id}/pending',
  costly: true,
  summary: 'List gateways and devices without a confirmation',
  description: 'They have not confirmed a delivered policy version.',
  access,
  params: Closed({ bundle_id: Id('policy_bundle') }),
  query: Closed(pageQuery),
  response: List(PendingAdoption),
})

export const readMetrics = endpoint({
  method: 'GET',
  path: '/v1/admin/metrics',
  costly: true,
  summary: 'Get metrics over time',
  description: 'The series are by hour or by day (UTC): traffic, VPN sessions, enrollments and refusals.',
  access,
  errors: ['validation_error'],
  query: Closed({
    from: Type.Optional(Time),
    to: Type.Optional(Time),
    step: Type.Optional(
      OneOf(usageSteps, {
        description: `Length of a step. Default: \`day\`. The period has at most ${usageDays.hour} days by hour, and ${usageDays.day} days by day`,
      }),
    ),
  }),
  response: Closed({ from: Time, to: Time, step: OneOf(usageSteps), series: Series }, { title: 'Metrics' }),
})
