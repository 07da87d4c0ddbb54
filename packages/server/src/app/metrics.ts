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
      async () => [
        gaugesBy('holdfast_entities', 'How many there are, of all tenants.', 'kind', await tenancy.totals()),
      ],
    ],
    onError: deps.onError,
  })
  return createMetricsEndpoint({ collect, token: deps.secrets.metricsToken })
}

function ofReplica({ config, db, feed, fleet, policy, gateways }: Deps): Metric[] {
  const { open, idle, waiting } = db.connections()
  return [
    gaugesBy(
      'holdfast_database_connections',
      'Connections of this replica to the database, by what they do.',
      'state',
      {
        busy: open - idle,
        idle,
      },
    ),
    gauge('holdfast_database_connections_max', 'The most of them.', config.databaseConnections),
    gauge('holdfast_database_waiting', 'Transactions that wait for a connection.', waiting),
    gauge(
      'holdfast_change_feed_age_seconds',
      'How long ago memory was last compared with the database; beyond a second requests wait for it.',
      feed.ageMs() / 1000,
    ),
    gauge('holdfast_tenants_in_memory', 'Tenants whose fleet this replica holds.', fleet.held()),
    gaugesBy('holdfast_held_requests', 'Requests held until there is news, by who asks.', 'by', {
      device_policy: policy.waiting(),
      device_gateways: gateways.devicesWaiting(),
      gateway: gateways.waiting(),
    }),
  ]
}

const ofArrivals = ({ events, seconds }: Awaited<ReturnType<Audit['backlog']>>): Metric[] => [
  gauge(
    'holdfast_audit_unsequenced_events',
    'Events without a place in their record yet; counted up to 10,000.',
    events,
  ),
  gauge('holdfast_audit_lag_seconds', 'How long the oldest of them has waited.', seconds),
]

const ofSiem = ({ states, ...s }: Awaited<ReturnType<ReturnType<typeof createSiem>['standing']>>): Metric[] => [
  gaugesBy('holdfast_siem_connectors', 'Connectors, by how delivery stands.', 'state', states),
  gauge('holdfast_siem_lag_events', 'The most events that a connector in use has still to deliver.', s.lag_events),
  gauge('holdfast_siem_lag_seconds', 'How long the oldest of them has been on record.', s.lag_seconds),
  gauge('holdfast_siem_dead_letters', 'Events that receivers refused, and nobody sent again.', s.dead),
  gauge('holdfast_siem_lost_events', 'Events that were purged before a receiver took them.', s.lost),
]
