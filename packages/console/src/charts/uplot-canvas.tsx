import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatExact, type TimeZone } from '../ui/format-time.ts'
import { formatAxisTime } from './axis.ts'
import type { Series } from './line-chart.tsx'

type UplotCanvasProps = {
  times: readonly string[]
  series: readonly Series[]
  format: (value: number) => string
  zone: TimeZone
}
type Reading = { at: string; values: string }
const height = 208

/** Canvas of a `TimeSeries`, loaded as its own module. A change of theme creates a new chart with other colours. */
export const UplotCanvas = (props: UplotCanvasProps) => <Chart key={useThemeCount()} {...props} />

function Chart({ times, series, format, zone }: UplotCanvasProps) {
  const box = useRef<HTMLDivElement>(null)
  const [reading, setReading] = useState<Reading>()
  useEffect(() => {
    const element = box.current
    if (!element) return
    const read = (place: number | null | undefined) => setReading(readingAt({ times, series, format, zone }, place))
    const options = optionsOf({ times, series, format, zone }, element, read)
    const data = [times.map((at) => Date.parse(at) / 1000), ...series.map((one) => [...one.data])]
    const chart = new uPlot(options, data as uPlot.AlignedData, element)
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      chart.destroy()
    }
  }, [times, series, format, zone])
  return (
    <>
      <div ref={box} />
      <div className="reading">
        {reading ? `${reading.at} · ${reading.values}` : 'Point at the chart to read values.'}
      </div>
    </>
  )
}

function readingAt({ times, series, format, zone }: UplotCanvasProps, place: number | null | undefined) {
  const at = place === null || place === undefined ? undefined : times[place]
  if (at === undefined || place === null || place === undefined) return undefined
  const values = series.map(({ name, data }) => `${name} ${valueText(data[place], format)}`)
  return { at: formatExact(at, zone), values: values.join(' · ') }
}
const valueText = (value: number | null | undefined, format: (n: number) => string) =>
  value === null || value === undefined ? '–' : format(value)

type Read = (place: number | null | undefined) => void
function optionsOf({ series, format, zone }: UplotCanvasProps, element: HTMLElement, read: Read): uPlot.Options {
  const colour = colourReader(element)
  const axis = { stroke: colour('--faint'), font: `11px ${getComputedStyle(element).fontFamily}` }
  const grid = { stroke: colour('--c-grid'), width: 1 }
  return {
    width: element.clientWidth || 600,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    hooks: { setCursor: [(chart) => read(chart.cursor.idx)] },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        ticks: { show: false },
        values: (chart, splits) => splits.map(timeText(chart, zone)),
      },
      { ...axis, grid, ticks: { show: false }, size: 64, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map(({ name, isDashed }, place) => ({
        label: name,
        width: 1.5,
        stroke: colour(`--c-${place + 1}`),
        ...(isDashed && { dash: [4, 4] }),
        ...(place === 0 && { fill: colour('--c-fill') }),
      })),
    ],
  }
}

const timeText = (chart: uPlot, zone: TimeZone) => (seconds: number) => {
  const { min = 0, max = 0 } = chart.scales.x ?? {}
  return formatAxisTime(new Date(seconds * 1000).toISOString(), ((max ?? 0) - (min ?? 0)) * 1000, zone)
}

/**
 * Returns a function that reads a colour. A canvas does not support `light-dark()`, so an element resolves it first.
 */
function colourReader(element: HTMLElement): (name: string) => string {
  return (name) => {
    element.style.color = `var(${name})`
    const value = getComputedStyle(element).color
    element.style.removeProperty('color')
    return value
  }
}

/** Counts the changes of theme, by the attribute of the page or by the system. */
function useThemeCount(): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const change = () => setCount((n) => n + 1)
    const system = matchMedia('(prefers-color-scheme: dark)')
    const observer = new MutationObserver(change)
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    system.addEventListener('change', change)
    return () => {
      observer.disconnect()
      system.removeEventListener('change', change)
    }
  }, [])
  return count
}
