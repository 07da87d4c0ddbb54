import { useEffect, useRef } from 'react'
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

/** The focus goes into the panel, and back to where it was when the panel closes. */
export function useFocusWhenOpened() {
  const ref = useRef<HTMLElement>(null)
  useEffect(() => {
    const before = document.activeElement
    ref.current?.focus({ preventScroll: true })
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return ref
}
