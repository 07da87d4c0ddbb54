import { type KeyboardEvent, useState } from 'react'
import { AppLink } from './app-link.tsx'
import { classes } from './classes.ts'
import { formatCount } from './format.ts'
import { Bullet } from './progress.tsx'

/** `accent` is good too, in the second of two strips. */
type CellState = 'ok' | 'accent' | 'warn' | 'bad' | 'drain' | 'none' | 'wait'
type Cell = {
  id: string
  state: CellState
  /** Name and state in words: `gw-fra-2: down, no heartbeat for 100 s`. */
  label: string
  to?: string | undefined
}
type CellStripProps = {
  /** Sum in words: `25 gateways: 24 healthy, 1 down`. */
  label: string
  cells: readonly Cell[]
  size?: 'sm' | undefined
}
/** Most cells that stay distinguishable. */
const atMost = 200
const moves: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }

/**
 * One cell for each object. Cells with an address are links; the arrow keys move between them.
 *
 * @example <CellStrip label="25 gateways: 24 healthy, 1 down" cells={gateways.map(toCell)} />
 */
export function CellStrip({ label, cells, size }: CellStripProps) {
  if (cells.length > atMost) return <ManyCells label={label} cells={cells} />
  if (cells.some(({ to }) => to !== undefined)) return <LinkedCells label={label} cells={cells} />
  return (
    <span className={classes('cells', size)} role="img" aria-label={label}>
      {cells.map((cell) => (
        <span key={cell.id} className={classes('cell', classOf(cell.state))} title={cell.label} />
      ))}
    </span>
  )
}
const classOf = (state: CellState) => (state === 'accent' ? 'a' : state !== 'ok' && state)

function ManyCells({ label, cells }: CellStripProps) {
  const good = cells.filter(({ state }) => state === 'ok' || state === 'accent').length
  const text = `${label} (${good} of ${formatCount(cells.length, 'cell')})`
  return <Bullet share={good / cells.length} label={text} fill={good === cells.length ? 'bxok' : 'bxwarn'} />
}

function LinkedCells({ label, cells }: CellStripProps) {
  const [place, setPlace] = useState(0)
  const current = Math.min(place, cells.length - 1)
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const next = placeAfter(event.key, current, cells.length)
    if (next === undefined) return
    event.preventDefault()
    setPlace(next)
    event.currentTarget.querySelectorAll<HTMLElement>('a')[next]?.focus()
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is no set of fields
    <span className="cells links" role="group" aria-label={label} onKeyDown={onKeyDown}>
      {cells.map((cell, i) => (
        <AppLink
          key={cell.id}
          to={cell.to ?? ''}
          aria-label={cell.label}
          title={cell.label}
          tabIndex={i === current ? 0 : -1}
          onFocus={() => setPlace(i)}
        >
          <span className={classes('cell', classOf(cell.state))} />
        </AppLink>
      ))}
    </span>
  )
}

function placeAfter(key: string, place: number, count: number): number | undefined {
  if (key === 'Home') return 0
  if (key === 'End') return count - 1
  const step = moves[key]
  return step === undefined ? undefined : Math.min(Math.max(place + step, 0), count - 1)
}
