import { LineChart } from '../../charts/line-chart.tsx'
import { Card } from './card.tsx'
import { type Range, useMetrics } from './range.ts'

/** Sessions at once, and sessions that began, over the range. */
export function SessionsCard({ range }: { range: Range }) {
  const query = useMetrics(range)
  return (
    <Card title="VPN sessions" what="the history of sessions" query={query} className="c8 row-chart">
      {({ series }) =>
        series.length < 2 ? (
          <p className="soft">The first hours are being counted. The chart begins with the second one.</p>
        ) : (
          <LineChart
            label="VPN sessions"
            size="tall"
            times={series.map((step) => step.at)}
            series={[
              { name: 'At most at once', data: series.map((step) => step.sessions) },
              { name: 'Started', data: series.map((step) => step.sessions_started) },
            ]}
          />
        )
      }
    </Card>
  )
}
