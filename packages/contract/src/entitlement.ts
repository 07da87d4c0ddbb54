import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Limits } from './entitlement-limits.ts'
import { usageDays } from './limits.ts'
import { Bytes, Closed, Count, Id, Nullable, OneOf, Time, WasChanged } from './schema.ts'
import { countedMetrics, entitlementMetrics, entitlementStates, licenseStates } from './vocabulary.ts'

const access = { by: ['session', 'api_key'], permission: 'usage:read' } as const
const params = Closed({ tenant_id: Id('tenant') })
const Limit = Nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))
const ofEach = <const T extends readonly string[], V>(names: T, value: V) =>
  Object.fromEntries(names.map((name) => [name, value])) as Record<T[number], V>

/** Sources of a limit. The lowest limit applies. */
const limitSources = ['license', 'plan', 'tenant', 'none'] as const

export const getEntitlement = endpoint({
  method: 'GET',
  path: '/v1/admin/tenants/{tenant_id}/entitlement',
  summary: 'Get the limits of the tenant',
  description: 'The lowest limit of license, plan and tenant applies.',
  access,
  params,
  response: Closed(
    {
      tenant_id: Id('tenant'),
      plan: Nullable(Type.String()),
      edition: Type.String({ description: 'Edition of the license; `community` without a license' }),
      license_state: OneOf(licenseStates),
      limits: Closed(ofEach(entitlementMetrics, Limit)),
      sources: Closed(ofEach(entitlementMetrics, OneOf(limitSources, { description: 'Source of the limit' }))),
      features: Type.Array(Type.String()),
    },
    { title: 'Entitlement' },
  ),
})

export const getEntitlementStatus = endpoint({
  method: 'GET',
  path: '/v1/admin/tenants/{tenant_id}/entitlement/status',
  summary: 'Get the usage of the limits of the tenant',
  access,
  params,
  response: Closed(
    {
      tenant_id: Id('tenant'),
      license_state: OneOf(licenseStates),
      metrics: Type.Array(
        Closed(
          {
            metric: OneOf(entitlementMetrics),
            used: Type.Number({ minimum: 0 }),
            limit: Limit,
            remaining: Nullable(
              Type.Number({ minimum: 0, description: 'Number that can still be added; null: unlimited' }),
            ),
            percent: Nullable(Type.Number({ minimum: 0, description: 'Percentage of the limit in use' })),
            state: OneOf(entitlementStates),
            enforcement: OneOf(['hard', 'soft'], {
              description: '`hard`: use above the limit is refused. `soft`: it is only reported',
            }),
          },
          { title: 'EntitlementMetric' },
        ),
      ),
      blocked: Type.Array(OneOf(countedMetrics), { description: 'Metrics to which nothing can be added now' }),
    },
    { title: 'EntitlementStatus' },
  ),
})

export const listEntitlementAlerts = endpoint({
  method: 'GET',
  path: '/v1/admin/tenants/{tenant_id}/alerts',
  summary: 'List the limits that the tenant approaches',
  description: 'An alert is for a limit that is used to 80 %, reached or exceeded.',
  access,
  params,
  response: Closed({
    tenant_id: Id('tenant'),
    items: Type.Array(
      Closed(
        {
          metric: OneOf(entitlementMetrics),
          level: OneOf(['approaching', 'at_limit', 'over']),
          used: Type.Number({ minimum: 0 }),
          limit: Type.Integer({ minimum: 0 }),
          since: Time,
          detail: Type.String({ description: 'One sentence for a person' }),
        },
        { title: 'EntitlementAlert' },
      ),
    ),
  }),
})

export const usageSteps = ['hour', 'day'] as const

export const getUsage = endpoint({
  method: 'GET',
  path: '/v1/admin/tenants/{tenant_id}/usage',
  summary: 'Get the usage of the tenant',
  description: 'The usage is by hour or by day (UTC). The answer also has a forecast for the limits.',
  access,
  params,
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
  response: Closed(
    {
      tenant_id: Id('tenant'),
      from: Time,
      to: Time,
      step: OneOf(usageSteps),
      totals: Closed({ rx_bytes: Bytes, tx_bytes: Bytes, sessions_started: Count }),
      series: Type.Array(
        Closed(
          {
            at: Time,
            rx_bytes: Bytes,
            tx_bytes: Bytes,
            sessions_started: Count,
            peak: Closed(ofEach(countedMetrics, Count), { description: 'Highest number at one time' }),
          },
          { title: 'UsageStep' },
        ),
      ),
      forecast: Type.Array(
        Closed(
          {
            metric: OneOf(entitlementMetrics),
            used: Type.Number({ minimum: 0 }),
            limit: Type.Integer({ minimum: 0 }),
            per_day: Type.Number({ description: 'Growth per day, over the days of this series' }),
            reaches_limit_at: Nullable(Time),
          },
          { title: 'UsageForecast' },
        ),
        { description: 'Forecast of every metric with a limit' },
      ),
    },
    { title: 'Usage' },
  ),
})

const LicenseStatus = Closed(
  {
    source: OneOf(['community', 'file'], { description: '`community`: the built-in license, which has no limits' }),
    state: OneOf(licenseStates),
    edition: Type.String(),
    license_id: Nullable(Type.String()),
    issuer: Nullable(Type.String()),
    customer: Nullable(Type.String()),
    issued_at: Nullable(Time),
    valid_from: Nullable(Time),
    expires_at: Nullable(Time),
    grace_ends_at: Nullable(Time),
    limits: Closed({ tenants: Type.Optional(Limit), ...Limits.properties }),
    features: Type.Array(Type.String()),
    deployment_id: Type.String({ description: 'Id of this deployment. A license may be bound to it' }),
    loaded_at: Nullable(Time),
    problem: Nullable(
      Closed(
        { detail: Type.String(), at: Time },
        { description: 'Reason why the last file was refused. The previous license stays in force' },
      ),
    ),
  },
  { title: 'LicenseStatus' },
)

export const getLicenseStatus = endpoint({
  method: 'GET',
  path: '/v1/admin/license/status',
  summary: 'Get the license in force',
  access: { by: ['session', 'api_key'], permission: 'license:read' },
  response: LicenseStatus,
})

export const reloadLicense = endpoint({
  method: 'POST',
  path: '/v1/admin/license/reload',
  summary: 'Reload the license file',
  description: 'The server reads `HOLDFAST_LICENSE_FILE` again. An invalid file changes nothing.',
  access: { by: ['session', 'api_key'], permission: 'license:write' },
  audit: 'license.reloaded',
  response: Closed({ changed: WasChanged, license: LicenseStatus }),
})
