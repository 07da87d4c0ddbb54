import { Fragment, type ReactNode } from 'react'
import { classes } from './classes.ts'

type KeyValuesProps = {
  rows: readonly (readonly [label: string, value: ReactNode] | false | undefined)[]
  look?: 'lined' | 'wide' | undefined
}

/**
 * List of properties. A row that is off is left out; an empty value is a dash.
 *
 * @example <KeyValues rows={[['Platform', 'macOS'], ['Serial', device.serial]]} />
 */
export function KeyValues({ rows, look }: KeyValuesProps) {
  return (
    <dl className={classes('kv', look)}>
      {rows.map(
        (row) =>
          row && (
            <Fragment key={row[0]}>
              <dt>{row[0]}</dt>
              <dd>{row[1] ?? <span className="faint">–</span>}</dd>
            </Fragment>
          ),
      )}
    </dl>
  )
}
