import { classes } from '../ui/classes.ts'
import { formatNumber } from '../ui/format.ts'
import { useTimeZone } from '../ui/time-zone.ts'
import { describeSeries, niceScale, round1, runsOf, timeLabels } from './axis.ts'
import { Legend } from './legend.tsx'
import { height, Plot, width } from './plot.tsx'

export type Series = {
  name: string
  /** One value for each time; null draws a gap. */
  data: readonly (number | null)[]
  /** Dashed line, for a forecast. */
  isDashed?: boolean | undefined
}
type LineChartProps = {
  /** Content of the chart: `VPN sessions over 24 hours`. */
  label: string
  times: readonly string[]
  /** At most four. */
  series: readonly Series[]
  /** Times of events, drawn as vertical lines. The text below the chart explains them. */
  marks?: readonly string[] | undefined
  /** Limit, drawn as a line. */
  limit?: number | undefined
  size?: 'low' | 'mid' | 'tall' | undefined
  format?: ((value: number) => string) | undefined
}
const colours = ['c1', 'c2', 'c3', 'c4'] as const

/**
 * Values over time, from 0.
 *
 * @example <LineChart label="VPN sessions over 24 hours" times={times} series={[{ name: 'Running', data }]} />
 */
export function LineChart({ label, times, series, marks = [], limit, size, format = formatNumber }: LineChartProps) {
  const zone = useTimeZone()
  const values = series.flatMap(({ data }) => data.filter((value) => value !== null))
  const { max, ticks } = niceScale(Math.max(limit ?? 0, ...values))
  const sentence = `${label}. ${series.map(({ name, data }) => describeSeries(name, data, format)).join('. ')}.`
  return (
    <Plot
      label={sentence}
      size={size}
      y={ticks.map(format)}
      x={timeLabels(times, zone)}
      legend={series.length > 1 && <Legend isLine entries={series.map((one, i) => entryOf(one, i))} />}
      table={{ times, format, columns: series.map(({ name, data }) => ({ name, values: data })) }}
    >
      {series.map((one, place) => (
        <Line key={one.name} series={one} place={place} max={max} />
      ))}
      {limit !== undefined && <Level y={yOf(limit, max)} />}
      {marks.map((at) => (
        <Mark key={at} at={at} times={times} />
      ))}
    </Plot>
  )
}

const entryOf = ({ name }: Series, place: number) => ({ id: name, label: name, swatch: colours[place] ?? 'c4' })
const yOf = (value: number, max: number) => round1(height - (value / max) * height)

function Line({ series, place, max }: { series: Series; place: number; max: number }) {
  const last = Math.max(series.data.length - 1, 1)
  const colour = colours[place]
  return runsOf(series.data).map(({ from, values }) => {
    const x = (i: number) => round1(((from + i) / last) * width)
    const points = values.map((value, i) => `${x(i)},${yOf(value, max)}`)
    const area = `M${x(0)},${height} L${points.join(' L')} L${x(values.length - 1)},${height} Z`
    return (
      <g key={from}>
        {place === 0 && !series.isDashed && <path className="ar" d={area} />}
        <polyline
          className={classes('ln', colour !== 'c1' && colour, series.isDashed && 'dash')}
          points={points.join(' ')}
        />
      </g>
    )
  })
}

const Level = ({ y }: { y: number }) => <line className="limit" x1="0" x2={width} y1={y} y2={y} />

function Mark({ at, times }: { at: string; times: readonly string[] }) {
  const first = Date.parse(times[0] ?? '')
  const span = Date.parse(times.at(-1) ?? '') - first
  const share = (Date.parse(at) - first) / span
  if (!(share >= 0 && share <= 1)) return null
  return <line className="mark" x1={round1(share * width)} x2={round1(share * width)} y1="0" y2={height} />
}
