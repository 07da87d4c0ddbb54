import { type ReactNode, useState } from 'react'
import { ChartTable, type TableData } from './chart-table.tsx'
import './charts.css'

type ChartFrameProps = { label: string; legend?: ReactNode; table: TableData; children: ReactNode }

/** A chart under its legend; one click shows the same data as a table. */
export function ChartFrame({ label, legend, table, children }: ChartFrameProps) {
  const [isTable, setIsTable] = useState(false)
  return (
    <div className="chartbox">
      <div className="row between wrap">
        <div>{legend}</div>
        <button type="button" className="btn link xs" onClick={() => setIsTable(!isTable)}>
          {isTable ? 'Show as chart' : 'Show as table'}
        </button>
      </div>
      {isTable ? <ChartTable label={label} {...table} /> : children}
    </div>
  )
}
