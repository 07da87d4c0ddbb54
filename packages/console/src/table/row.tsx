import { type MouseEvent, memo } from 'react'
import { Icon } from '../ui/icon.tsx'
import { MenuButton } from '../ui/menu.tsx'
import { type Column, columnClass, type ListSpec } from './spec.ts'

type Props<T> = {
  spec: ListSpec<T>
  columns: readonly Column<T>[]
  row: T
  href: string
  isOpen: boolean
  isSelected: boolean | undefined
  onToggle: ((id: string) => void) | undefined
  onExtend: ((id: string) => void) | undefined
  onOpen: (id: string) => void
}

/** Row of a list; redrawn only if its data, its selection or the columns change. */
export const TableRow = memo(Row) as typeof Row

function Row<T>({ spec, columns, row, href, isOpen, isSelected, onToggle, onExtend, onOpen }: Props<T>) {
  const id = spec.idOf(row)
  const name = spec.nameOf(row)
  const classes = [isOpen && 'open', isSelected && 'sel', spec.isGone?.(row) && 'gone'].filter(Boolean).join(' ')
  const select = (event: MouseEvent) => (event.shiftKey ? onExtend?.(id) : onToggle?.(id))
  const menu = spec.menuOf?.(row)
  return (
    <tr className={classes || undefined} data-id={id}>
      {isSelected !== undefined && (
        <td className="check">
          <input
            type="checkbox"
            aria-label={`Select ${name}`}
            checked={isSelected}
            onClick={select}
            onChange={() => undefined}
          />
        </td>
      )}
      {columns.map((column, i) =>
        i === 0 ? (
          <td key={column.id}>
            <NameCell {...{ spec, row, name, href, onOpen: () => onOpen(id) }} />
          </td>
        ) : (
          <td key={column.id} className={columnClass(column)}>
            {column.cell(row)}
          </td>
        ),
      )}
      <td className="x">
        <div className="acts">
          {/* Its own key, since elements of a row may later show another object: an open menu must not. */}
          {menu && menu.length > 0 && <MenuButton key={id} label={`Actions for ${name}`} items={menu} />}
        </div>
      </td>
    </tr>
  )
}

type NameProps<T> = { spec: ListSpec<T>; row: T; name: string; href: string; onOpen: () => void }

function NameCell<T>({ spec, row, name, href, onOpen }: NameProps<T>) {
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    onOpen()
  }
  const line = spec.lineOf?.(row)
  return (
    <div className="row">
      {spec.pictureOf?.(row) ?? <Icon name={spec.iconOf?.(row) ?? spec.icon} className="faint" />}
      <div className="first">
        {/* A plain link, since a link of the router computes its address again for every row. */}
        <a href={href} className="trunc" data-row-link="" onClick={open}>
          {name}
        </a>
        {line && <small className="trunc">{line}</small>}
        {spec.summaryOf && <small className="m trunc">{spec.summaryOf(row)}</small>}
      </div>
      {spec.asideOf?.(row)}
    </div>
  )
}
