import type { ReactNode } from 'react'
import { classes } from '../ui/classes.ts'
import { round1 } from './axis.ts'
import { ChartFrame } from './chart-frame.tsx'
import type { TableData } from './chart-table.tsx'

export const width = 1000
export const height = 100

type PlotProps = {
  /** Sentence with the highest, lowest and current value. */
  label: string
  /** Labels of the scale from top to bottom. */
  y: readonly string[]
  x: readonly string[]
  size?: 'low' | 'mid' | 'tall' | undefined
  legend?: ReactNode
  table: TableData
  children: ReactNode
}

/** Scale, grid and labels of a chart. The children draw the data. */
export const Plot = ({ label, y, x, size, legend, table, children }: PlotProps) => (
  <ChartFrame label={label} legend={legend} table={table}>
    <div className="chart">
      <Words className="y" texts={y} />
      <svg
        className={classes('plot', size)}
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        <Grid count={y.length} />
        {children}
      </svg>
      <Words className="xax" texts={x} />
    </div>
  </ChartFrame>
)

const Words = ({ className, texts }: { className: string; texts: readonly string[] }) => (
  <div className={className} aria-hidden="true">
    {texts.map((text, place) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the same hour may stand at both ends
      <span key={place}>{text}</span>
    ))}
  </div>
)

const Grid = ({ count }: { count: number }) =>
  Array.from({ length: count }, (_, place) => {
    const y = round1((place / Math.max(count - 1, 1)) * height)
    return <line key={y} className={place === count - 1 ? 'base' : 'grid'} x1="0" x2={width} y1={y} y2={y} />
  })
