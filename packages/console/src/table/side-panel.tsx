import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react'
import { Icon, type IconName } from '../ui/icon.tsx'
import { IconButton } from '../ui/icon-button.tsx'
import { isTyping } from '../ui/is-typing.ts'
import { Hint } from '../ui/kbd.tsx'

/** The object that a panel shows beside the list, and the way to the others of the page. */
export type Walk = {
  id: string
  /** The objects of the page, in their order. */
  ids: readonly string[]
  onMove: (id: string) => void
  onClose: () => void
}

type Props = Walk & {
  /** `device`: the noun of the list. */
  noun: string
  /** The name of the panel for assistive technology; noun and name unless given. */
  label?: string | undefined
  /** Undefined until the object has been read. */
  name: string | undefined
  icon: IconName
  /** Shows a long name on several lines. */
  wrapsName?: boolean
  /** Beside the name, for example a badge. */
  aside?: ReactNode
  /** Buttons between the arrows and the closing button. */
  tools?: ReactNode
  /** One line of facts: status, owner. */
  facts?: ReactNode
  actions?: ReactNode
  /** Keys of the object, beside those of the panel itself. */
  hints?: readonly { keys: readonly string[]; does: string }[]
  children: ReactNode
}

/**
 * One object beside its list. The arrow keys and the arrows in its head walk the list; the focus enters the panel when
 * it opens, and returns to the row of the object when it closes.
 *
 * @example <SidePanel {...walk} noun="token" icon="key" name={token?.name}>…</SidePanel>
 */
export function SidePanel(props: Props) {
  const {
    noun,
    name,
    label,
    icon,
    wrapsName = false,
    aside,
    tools,
    facts,
    actions,
    hints = [],
    children,
    ...walk
  } = props
  const { id, ids, onMove, onClose } = walk
  const panel = useFocusWhenOpened(id)
  const at = ids.indexOf(id)
  return (
    <aside
      className="panel"
      aria-label={label ?? `${noun.charAt(0).toUpperCase()}${noun.slice(1)} ${name ?? ''}`}
      ref={panel}
      tabIndex={-1}
      onKeyDown={walkKey(walk)}
    >
      <header>
        <div className="row between">
          <div className="row">
            <Icon name={icon} />
            <h2 className={wrapsName ? undefined : 'trunc'}>{name ?? '…'}</h2>
            {aside}
          </div>
          <div className="row tight">
            <Move icon="up" label={`Previous ${noun}`} to={ids[at - 1]} onMove={onMove} />
            <Move icon="down" label={`Next ${noun}`} to={at < 0 ? undefined : ids[at + 1]} onMove={onMove} />
            {tools}
            <IconButton icon="x" label="Close panel" onClick={onClose} />
          </div>
        </div>
        {facts && <div className="row wrap">{facts}</div>}
        {actions}
      </header>
      {children}
      <footer className="hints" aria-hidden="true">
        <Hint keys={['↑', '↓']} does={`next ${noun}`} />
        {hints.map((hint) => (
          <Hint key={hint.does} {...hint} />
        ))}
        <Hint keys={['Esc']} does="close" />
      </footer>
    </aside>
  )
}

/** Separates the facts in the head of a panel. */
export const Dot = () => <span className="faint">·</span>

type MoveProps = { icon: 'up' | 'down'; label: string; to: string | undefined; onMove: (id: string) => void }

const Move = ({ icon, label, to, onMove }: MoveProps) => (
  <IconButton
    icon={icon}
    label={label}
    onClick={() => to && onMove(to)}
    {...(to === undefined && { offReason: 'The page has no more.' })}
  />
)

/** Walks the list with the arrows, `j` and `k`, unless the focus is in a control that has these keys itself. */
const walkKey =
  ({ id, ids, onMove }: Walk) =>
  (event: KeyboardEvent): void => {
    const step = { ArrowUp: -1, k: -1, ArrowDown: 1, j: 1 }[event.key]
    const isElsewhere = isTyping(event.nativeEvent) || (event.target as HTMLElement).closest('[role="menu"], dialog')
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey || isElsewhere) return
    event.preventDefault()
    const at = ids.indexOf(id)
    const to = at < 0 ? undefined : ids[at + step]
    if (to !== undefined) onMove(to)
  }

/** Moves the focus into the panel, and at its end to the row of the object that it shows then. */
function useFocusWhenOpened(id: string) {
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
