import { startTransition, useDeferredValue, useEffect, useState } from 'react'
import { Icon } from '../ui/icon.tsx'
import { ScrollRegion } from '../ui/scroll-region.tsx'
import { TableRow } from './row.tsx'
import type { Selection } from './selection.ts'
import { type Column, columnClass, type ListSpec } from './spec.ts'

type Props<T> = {
  spec: ListSpec<T>
  columns: readonly Column<T>[]
  rows: readonly T[]
  sort: string
  onSort: (sort: string) => void
  openId: string | undefined
  hrefOf: (id: string) => string
  onOpen: (id: string) => void
  selection: Selection | undefined
}

/** Page of a list as a table. The head sorts; rows open, can be selected and have a menu. */
export function DataTable<T>({ spec, columns, sort, onSort, openId, hrefOf, onOpen, selection, ...props }: Props<T>) {
  // Other rows are rendered in short tasks.
  const rows = useDeferredValue(props.rows)
  const ids = rows.map(spec.idOf)
  const shown = useGrowing(rows.length)
  const selected = selection ? ids.filter((id) => selection.ids.has(id)).length : 0
  return (
    <ScrollRegion className="tw" label={spec.noun.many}>
      <table className="t">
        <thead>
          <tr>
            {selection && (
              <th scope="col" className="check">
                <input
                  type="checkbox"
                  aria-label="Select all on this page"
                  checked={selected > 0 && selected === ids.length}
                  ref={(element) => {
                    if (element) element.indeterminate = selected > 0 && selected < ids.length
                  }}
                  onChange={selection.togglePage}
                />
              </th>
            )}
            {columns.map((column) => (
              <HeadCell key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
            <th scope="col" className="x">
              <span className="vh">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown).map((row) => {
            const id = spec.idOf(row)
            return (
              <TableRow
                key={id}
                spec={spec}
                columns={columns}
                row={row}
                href={hrefOf(id)}
                isOpen={id === openId}
                isSelected={selection ? selection.isAll || selection.ids.has(id) : undefined}
                onToggle={selection?.toggle}
                onExtend={selection?.extendTo}
                onOpen={onOpen}
              />
            )
          })}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

/** Rows that fill a screen, and rows that follow at a time. */
const [firstRows, moreRows] = [30, 20]
/** Grows to a number of rows in steps, so that a slow processor lays out few rows at a time. */
function useGrowing(count: number): number {
  const [shown, setShown] = useState(firstRows)
  useEffect(() => {
    if (shown < count) startTransition(() => setShown(shown + moreRows))
  }, [shown, count])
  return shown
}

function HeadCell<T>({ column, sort, onSort }: { column: Column<T>; sort: string; onSort: (sort: string) => void }) {
  const className = columnClass(column)
  if (!column.sort)
    return (
      <th scope="col" className={className}>
        {column.label}
      </th>
    )
  const isDescending = sort === `-${column.sort}`
  const isSorted = isDescending || sort === column.sort
  return (
    <th
      scope="col"
      className={className}
      {...(isSorted && { 'aria-sort': isDescending ? ('descending' as const) : ('ascending' as const) })}
    >
      <button type="button" onClick={() => onSort(sort === column.sort ? `-${column.sort}` : (column.sort ?? ''))}>
        {column.label}
        <Icon name={isSorted ? (isDescending ? 'down' : 'up') : 'updown'} />
      </button>
    </th>
  )
}
