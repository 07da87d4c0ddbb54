import { Fragment } from 'react'
import { heatStep } from './axis.ts'

type HeatStripProps = {
  /** Sentence that names the maximum. */
  label: string
  /** Days, each with one value for each hour. */
  rows: readonly { name: string; values: readonly number[] }[]
  /** Labels under the columns, spread evenly. */
  columns: readonly string[]
}

/**
 * Pattern of a week, without exact numbers.
 *
 * @example <HeatStrip label="Failed sign-ins. Most on Wednesday at 02:00." rows={days} columns={['00', '24']} />
 */
export function HeatStrip({ label, rows, columns }: HeatStripProps) {
  const most = Math.max(0, ...rows.flatMap(({ values }) => values))
  return (
    <div className="heat" role="img" aria-label={label}>
      {rows.map(({ name, values }) => (
        <Fragment key={name}>
          <span>{name}</span>
          <svg viewBox={`0 0 ${values.length * 10} 10`} preserveAspectRatio="none" aria-hidden="true">
            {values.map((value, place) => (
              <rect
                // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
                key={place}
                className={`h${heatStep(value, most)}`}
                x={place * 10}
                width="9.2"
                height="10"
              />
            ))}
          </svg>
        </Fragment>
      ))}
      <span />
      <span className="xax">
        {columns.map((text, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
          <span key={place}>{text}</span>
        ))}
      </span>
    </div>
  )
}
