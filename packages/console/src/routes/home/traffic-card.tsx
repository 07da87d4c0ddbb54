import { BarChart } from '../../charts/bar-chart.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Card } from './card.tsx'
import { type Range, useMetrics } from './range.ts'

const mb = 1_000_000

/** Traffic of all gateways by step, in megabytes. */
export function TrafficCard({ range }: { range: Range }) {
  const query = useMetrics(range)
  return (
    <Card
      title={`Traffic, MB ${range === '30d' ? 'per day' : 'per hour'}`}
      what="the traffic"
      query={query}
      className="c4 row-low"
    >
      {({ series }) => (
        <>
          <BarChart
            label="Traffic, received and sent"
            size="mid"
            times={series.map((step) => step.at)}
            parts={[
              { name: 'Received', swatch: 'c1', values: series.map((step) => Math.round(step.rx_bytes / mb)) },
              { name: 'Sent', swatch: 'c2', values: series.map((step) => Math.round(step.tx_bytes / mb)) },
            ]}
          />
          <p className="soft xs num gap-above">
            In all {formatBytes(series.reduce((sum, step) => sum + step.rx_bytes + step.tx_bytes, 0))}
          </p>
        </>
      )}
    </Card>
  )
}
