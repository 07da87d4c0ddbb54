import { formatExact } from '../ui/format-time.ts'
import { ScrollRegion } from '../ui/scroll-region.tsx'
import { useTimeZone } from '../ui/time-zone.ts'

export type TableData = {
  times: readonly string[]
  columns: readonly { name: string; values: readonly (number | null)[] }[]
  format: (value: number) => string
}

/** The data of a chart as a table, newest first. */
export function ChartTable({ label, times, columns, format }: TableData & { label: string }) {
  const zone = useTimeZone()
  const places = times.map((_, place) => times.length - 1 - place)
  return (
    <ScrollRegion className="charttable" label={label}>
      <table className="mini">
        <thead>
          <tr>
            <th scope="col">Time</th>
            {columns.map(({ name }) => (
              <th key={name} scope="col" className="n">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {places.map((place) => (
            <tr key={times[place]}>
              <th scope="row">{formatExact(times[place]!, zone)}</th>
              {columns.map(({ name, values }) => (
                <td key={name} className="n">
                  {values[place] === null || values[place] === undefined ? '–' : format(values[place])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}
