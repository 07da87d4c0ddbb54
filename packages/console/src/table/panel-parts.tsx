import { type KeyboardEvent, useEffect, useRef } from 'react'
import { isTyping } from '../shell/use-shortcuts.ts'
import { IconButton } from '../ui/icon-button.tsx'

type MovesProps = { noun: string; id: string; ids: readonly string[]; onMove: (id: string) => void }

/** The arrows in the head of a panel that walk the list beside it. */
export function PanelMoves({ noun, id, ids, onMove }: MovesProps) {
  const at = ids.indexOf(id)
  return (
    <>
      <Move icon="up" label={`Previous ${noun}`} to={ids[at - 1]} onMove={onMove} />
      <Move icon="down" label={`Next ${noun}`} to={at < 0 ? undefined : ids[at + 1]} onMove={onMove} />
    </>
  )
}

type MoveProps = { icon: 'up' | 'down'; label: string; to: string | undefined; onMove: (id: string) => void }

const Move = ({ icon, label, to, onMove }: MoveProps) => (
  <IconButton
    icon={icon}
    label={label}
    onClick={() => to && onMove(to)}
    {...(to === undefined && { offReason: 'The page has no more.' })}
  />
)

/** What the arrows, `j` and `k` do in a panel: they walk the list beside it. */
export const walkKey =
  ({ id, ids, onMove }: Omit<MovesProps, 'noun'>) =>
  (event: KeyboardEvent): void => {
    const step = { ArrowUp: -1, k: -1, ArrowDown: 1, j: 1 }[event.key]
    const isElsewhere = isTyping(event.nativeEvent) || (event.target as HTMLElement).closest('[role="menu"], dialog')
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey || isElsewhere) return
    event.preventDefault()
    const at = ids.indexOf(id)
    const to = at < 0 ? undefined : ids[at + step]
    if (to !== undefined) onMove(to)
  }

/**
 * The focus goes into the panel, and when it closes to the row of its object, or back to where it was.
 *
 * @param id of the object, which changes as the panel walks the list
 */
export function useFocusWhenOpened(id = '') {
  const ref = useRef<HTMLElement>(null)
  const shown = useRef(id)
  shown.current = id
  useEffect(() => {
    const before = document.activeElement
    ref.current?.focus({ preventScroll: true })
    return () => {
      const row = document.querySelector<HTMLElement>(`tr[data-id="${shown.current}"] [data-row-link]`)
      const next = row ?? before
      if (next instanceof HTMLElement && next.isConnected) next.focus()
    }
  }, [])
  return ref
}
