import { useLayoutEffect, useRef } from 'react'
import { Icon } from '../ui/icon.tsx'
import { ScrollRegion } from '../ui/scroll-region.tsx'
import { TableRow } from './row.tsx'
import type { Selection } from './selection.ts'
import { type Column, columnClass, type ListSpec } from './spec.ts'
import { type KeyedRow, usePage } from './use-page.ts'

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
export function DataTable<T>({ spec, columns, sort, onSort, openId, hrefOf, onOpen, selection, rows }: Props<T>) {
  const { ids, first, others, areOld, turn } = usePage(rows, spec.idOf)
  const region = useRef<HTMLElement>(null)
  // Every page begins at its top.
  useLayoutEffect(() => {
    if (turn > 0) region.current?.scrollTo(0, 0)
  }, [turn])
  const selected = selection ? ids.filter((id) => selection.ids.has(id)).length : 0
  const rowOf = ({ row, id, key }: KeyedRow<T>) => (
    <TableRow
      key={key}
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
  return (
    <ScrollRegion ref={region} className="tw" label={spec.noun.many}>
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
        <tbody>{first.map(rowOf)}</tbody>
        {/* Hidden rows take no time to lay out, and keep their elements for the next rows. */}
        {others.length > 0 && <tbody hidden={areOld}>{others.map(rowOf)}</tbody>}
      </table>
    </ScrollRegion>
  )
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
