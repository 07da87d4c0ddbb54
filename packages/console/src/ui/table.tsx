import type { ReactNode } from 'react'

export type TableColumn<T> = {
  label: string
  /** CSS classes of all cells: `n` for numbers, `p2` to `p5` for columns that a narrow table hides. */
  className?: string
  /** True if the cells are the heads of their rows. */
  isHead?: boolean
  cell: (row: T) => ReactNode
}
type Props<T> = {
  columns: readonly TableColumn<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string
  /** `mini` is the table of a card; the default has rows as in a list. */
  look?: 'mini' | 'card' | undefined
  rowClass?: (row: T) => string | undefined
}

/**
 * Table without sorting, selection and pages: for a tab of an object, or a card.
 *
 * @example <Table columns={columns} rows={certificates} keyOf={(spc) => spc.spc_id} />
 */
export function Table<T>({ columns, rows, keyOf, look, rowClass }: Props<T>) {
  const table = (
    <table className={look === 'mini' ? 'mini' : look === 'card' ? 't' : 't inset'}>
      <thead>
        <tr>
          {columns.map(({ label, className }) => (
            <th key={label} scope="col" className={className}>
              {className === 'x' ? <span className="vh">{label}</span> : label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} className={rowClass?.(row)}>
            {columns.map(({ label, className, isHead = false, cell }) =>
              isHead ? (
                <th key={label} scope="row" className={className}>
                  {cell(row)}
                </th>
              ) : (
                <td key={label} className={className}>
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
  return look === 'mini' ? table : <div className="tw">{table}</div>
}
