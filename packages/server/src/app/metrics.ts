import type { Config } from '../config/config.ts'
import type { Secrets } from '../config/secrets.ts'
import type { Database } from '../db/database.ts'
import { createCollector } from '../metrics/collect.ts'
import { createMetricsEndpoint } from '../metrics/endpoint.ts'
import { gauge, gaugesBy, type Metric } from '../metrics/exposition.ts'
import { createJobMetrics } from '../metrics/jobs.ts'
import { processMetrics } from '../metrics/process.ts'
import { createRequestMetrics } from '../metrics/requests.ts'
import type { Audit } from '../modules/audit/index.ts'
import type { Fleet } from '../modules/devices/index.ts'
import type { Gateways } from '../modules/gateways/index.ts'
import type { Policy } from '../modules/policy/index.ts'
import type { createSiem } from '../modules/siem/index.ts'
import type { Tenancy } from '../modules/tenancy/index.ts'
import type { Feed } from '../replication/feed.ts'

type Deps = {
  config: Config
  secrets: Pick<Secrets, 'metricsToken'>
  onError: (e: unknown) => void
  meters: Meters
  db: Database
  feed: Feed
  fleet: Fleet
  policy: Policy
  gateways: Gateways
  audit: Audit
  siem: ReturnType<typeof createSiem>
  tenancy: Tenancy
}

/** Meters that count events as they happen. */
export const createMeters = () => ({ requests: createRequestMetrics(), jobs: createJobMetrics() })
type Meters = ReturnType<typeof createMeters>

/** Metrics for operators, of this process and of the deployment. No metric is labelled by tenant, user or device. */
export function createAppMetrics(deps: Deps) {
  const { meters, audit, siem, tenancy } = deps
  const collect = createCollector({
    local: [processMetrics, meters.requests.metrics, meters.jobs.metrics, () => ofReplica(deps)],
    stored: [
      async () => ofArrivals(await audit.backlog()),
      async () => ofSiem(await siem.standing()),
      async () => [gaugesBy('holdfast_entities', 'Entities of all tenants, by kind.', 'kind', await tenancy.totals())],
    ],
    onError: deps.onError,
  })
  return createMetricsEndpoint({ collect, token: deps.secrets.metricsToken })
}

function ofReplica({ config, db, feed, fleet, policy, gateways }: Deps): Metric[] {
  const { open, idle, waiting } = db.connections()
  return [
    gaugesBy('holdfast_database_connections', 'Connections of this replica to the database, by state.', 'state', {
      busy: open - idle,
      idle,
    }),
    gauge(
      'holdfast_database_connections_max',
      'Maximum number of database connections of this replica.',
      config.databaseConnections,
    ),
    gauge('holdfast_database_waiting', 'Transactions that wait for a database connection.', waiting),
    gauge(
      'holdfast_change_feed_age_seconds',
      'Time since the caches were last compared with the database. Above 1 s requests wait for the comparison.',
      feed.ageMs() / 1000,
    ),
    gauge('holdfast_tenants_in_memory', 'Tenants whose fleet this replica holds in memory.', fleet.held()),
    gaugesBy('holdfast_held_requests', 'Held requests (long polls), by kind of client.', 'by', {
      device_policy: policy.waiting(),
      device_gateways: gateways.devicesWaiting(),
      gateway: gateways.waiting(),
    }),
  ]
}

const ofArrivals = ({ events, seconds }: Awaited<ReturnType<Audit['backlog']>>): Metric[] => [
  gauge(
    'holdfast_audit_unsequenced_events',
    'Audit events without a sequence number yet; counted up to 10,000.',
    events,
  ),
  gauge('holdfast_audit_lag_seconds', 'Age of the oldest audit event without a sequence number.', seconds),
]

const ofSiem = ({ states, ...s }: Awaited<ReturnType<ReturnType<typeof createSiem>['standing']>>): Metric[] => [
  gaugesBy('holdfast_siem_connectors', 'SIEM connectors, by state of delivery.', 'state', states),
  gauge('holdfast_siem_lag_events', 'Undelivered events of the SIEM connector that has the most.', s.lag_events),
  gauge('holdfast_siem_lag_seconds', 'Age of the oldest undelivered event of all SIEM connectors.', s.lag_seconds),
  gauge(
    'holdfast_siem_dead_letters',
    'Dead letters: events that a receiver refused and that were not delivered later.',
    s.dead,
  ),
  gauge('holdfast_siem_lost_events', 'Events that were purged before they were delivered.', s.lost),
]
