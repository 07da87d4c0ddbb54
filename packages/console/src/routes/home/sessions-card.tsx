import { useMemo } from 'react'
import { LineChart } from '../../charts/line-chart.tsx'
import { TimeSeries } from '../../charts/time-series.tsx'
import { Card } from './card.tsx'
import { type Metrics, type Range, useMetrics } from './range.ts'

/** Concurrent sessions and started sessions over the range. */
export function SessionsCard({ range }: { range: Range }) {
  const query = useMetrics(range)
  return (
    <Card title="VPN sessions" what="the history of sessions" query={query} className="c8 row-chart">
      {({ series }) =>
        series.length < 2 ? (
          <p className="soft">The chart begins with the second hour of data.</p>
        ) : (
          <Chart steps={series} range={range} />
        )
      }
    </Card>
  )
}

/** A day is a plain chart. Longer ranges need a cursor and zoom. */
function Chart({ steps, range }: { steps: Metrics['series']; range: Range }) {
  const data = useMemo(
    () => ({
      times: steps.map((step) => step.at),
      series: [
        { name: 'Peak', data: steps.map((step) => step.sessions) },
        { name: 'Started', data: steps.map((step) => step.sessions_started) },
      ],
    }),
    [steps],
  )
  return range === '24h' ? (
    <LineChart label="VPN sessions" size="tall" {...data} />
  ) : (
    <TimeSeries label="VPN sessions" {...data} />
  )
}
