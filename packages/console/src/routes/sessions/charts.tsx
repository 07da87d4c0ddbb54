import { useCan } from '../../api/me.ts'
import { LineChart } from '../../charts/line-chart.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import { Status } from '../../ui/status.tsx'
import { Card } from '../home/card.tsx'
import { useMetrics } from '../home/range.ts'
import type { useGateways } from './use-gateways.ts'

const most = 4

/** Concurrent sessions over a day, and the gateways with the most sessions. Both need a further permission. */
export function SessionCharts({ gateways }: { gateways: ReturnType<typeof useGateways> }) {
  const can = useCan()
  if (!can('operations:read')) return null
  return (
    <div className="cols listcharts">
      <OverTime />
      <TopGateways gateways={gateways} />
    </div>
  )
}

function OverTime() {
  const query = useMetrics('24h')
  return (
    <Card title="Sessions at once, 24 h" what="the history of sessions" query={query} className="c8">
      {({ series }) =>
        series.length < 2 ? (
          <p className="soft">The chart begins with the second hour of data.</p>
        ) : (
          <LineChart
            label="VPN sessions over 24 hours"
            size="mid"
            times={series.map((step) => step.at)}
            series={[{ name: 'Peak', data: series.map((step) => step.sessions) }]}
          />
        )
      }
    </Card>
  )
}

function TopGateways({ gateways: { query } }: { gateways: ReturnType<typeof useGateways> }) {
  return (
    <Card title="Top gateways" what="the gateways" query={query} className="c4">
      {({ items }) => {
        const top = items.toSorted((a, b) => b.active_sessions - a.active_sessions).slice(0, most)
        const highest = top[0]?.active_sessions ?? 0
        if (highest === 0) return <p className="soft">No gateway carries a session.</p>
        return (
          <div className="usage tight">
            {top.map((gateway) => (
              <div key={gateway.gateway_id}>
                <div className="row between">
                  <span className="row tight">
                    <AppLink to={`/admin/sessions?gateway_id=${gateway.gateway_id}`}>{gateway.name}</AppLink>
                    {gateway.status === 'down' && <Status kind="bad">metering stale</Status>}
                  </span>
                  <span className="num soft xs">{formatNumber(gateway.active_sessions)}</span>
                </div>
                <Bullet
                  share={gateway.active_sessions / highest}
                  label={`${gateway.name}: ${formatNumber(gateway.active_sessions)} sessions`}
                />
              </div>
            ))}
          </div>
        )
      }}
    </Card>
  )
}
