import { Suspense } from 'react'
import { formatNumber } from '../ui/format.ts'
import { lazily } from '../ui/lazy.tsx'
import { useTimeZone } from '../ui/time-zone.ts'
import { describeSeries } from './axis.ts'
import { ChartFrame } from './chart-frame.tsx'
import { Legend } from './legend.tsx'
import type { Series } from './line-chart.tsx'

type TimeSeriesProps = {
  label: string
  times: readonly string[]
  /** At most four. */
  series: readonly Series[]
  format?: ((value: number) => string) | undefined
}
const plot = lazily(() => import('./uplot-canvas.tsx').then((module) => module.UplotCanvas))
const swatches = ['c1', 'c2', 'c3', 'c4'] as const

/**
 * Values over time with a cursor that reads them, and zoom by dragging. Use a `LineChart` if neither is needed. Memoize
 * `times`, `series` and `format` (`useMemo`): a new value redraws the chart.
 *
 * @example <TimeSeries label="Traffic of gw-fra-1" times={times} series={series} format={formatBitRate} />
 */
export function TimeSeries({ label, times, series, format = formatNumber }: TimeSeriesProps) {
  const zone = useTimeZone()
  const sentence = `${label}. ${series.map(({ name, data }) => describeSeries(name, data, format)).join('. ')}.`
  const entries = series.map(({ name }, place) => ({ id: name, label: name, swatch: swatches[place] ?? 'c4' }))
  const table = { times, format, columns: series.map(({ name, data }) => ({ name, values: data })) }
  return (
    <ChartFrame label={sentence} legend={<Legend isLine entries={entries} />} table={table}>
      <div className="uplotbox" role="img" aria-label={sentence}>
        <Suspense>
          <plot.Component times={times} series={series} format={format} zone={zone} />
        </Suspense>
      </div>
    </ChartFrame>
  )
}
