import { formatNumber } from '../ui/format.ts'
import { useTimeZone } from '../ui/time-zone.ts'
import { describeSeries, niceScale, round1, timeLabels } from './axis.ts'
import { Legend, type Swatch } from './legend.tsx'
import { height, Plot, width } from './plot.tsx'

type Part = {
  name: string
  swatch: Swatch
  /** One count for each time. */
  values: readonly number[]
}
type BarChartProps = {
  /** Content of the chart: `Audit events over 24 hours`. */
  label: string
  /** Start time of each bar. */
  times: readonly string[]
  /** Parts of each bar, from bottom to top. */
  parts: readonly Part[]
  /** First and last selected bar. */
  selected?: readonly [from: number, to: number] | undefined
  size?: 'low' | 'mid' | 'tall' | undefined
}
const fillOf = (swatch: Swatch) => (swatch.startsWith('c') ? `bx${swatch.slice(1)}` : `bx${swatch}`)

/**
 * Stacked counts over time.
 *
 * @example <BarChart label="Audit events" times={times} parts={[{ name: 'Changes', swatch: 'c1', values }]} />
 */
export function BarChart({ label, times, parts, selected, size }: BarChartProps) {
  const zone = useTimeZone()
  const sums = times.map((_, place) => parts.reduce((sum, { values }) => sum + (values[place] ?? 0), 0))
  const { max, ticks } = niceScale(Math.max(0, ...sums))
  const step = width / Math.max(times.length, 1)
  return (
    <Plot
      label={`${describeSeries(label, sums, formatNumber)}.`}
      size={size}
      y={ticks.map(formatNumber)}
      x={timeLabels(times, zone)}
      legend={
        parts.length > 1 && <Legend entries={parts.map(({ name, swatch }) => ({ id: name, label: name, swatch }))} />
      }
      table={{ times, format: formatNumber, columns: parts.map(({ name, values }) => ({ name, values })) }}
    >
      {selected && (
        <rect
          className="brush"
          x={round1(selected[0] * step)}
          width={round1((selected[1] - selected[0] + 1) * step)}
          y="0"
          height={height}
        />
      )}
      {times.map((at, place) => (
        <Bar key={at} place={place} step={step} max={max} parts={parts} />
      ))}
    </Plot>
  )
}

type BarProps = { place: number; step: number; max: number; parts: readonly Part[] }
function Bar({ place, step, max, parts }: BarProps) {
  let top = height
  return parts.map(({ name, swatch, values }) => {
    const value = values[place] ?? 0
    const size = (value / max) * height
    top -= size
    if (value === 0) return null
    const x = round1(place * step + step * 0.12)
    return (
      <rect
        key={name}
        className={fillOf(swatch)}
        x={x}
        width={round1(step * 0.76)}
        y={round1(top)}
        height={round1(size)}
      />
    )
  })
}
