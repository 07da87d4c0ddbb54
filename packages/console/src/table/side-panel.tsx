import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react'
import { closestOf } from '../ui/closest.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import { IconButton } from '../ui/icon-button.tsx'
import { isTyping } from '../ui/is-typing.ts'
import { Hint } from '../ui/kbd.tsx'

/** Object in the side panel, and functions to move to others on the page. */
export type Walk = {
  id: string
  /** Objects of the page, in their order. */
  ids: readonly string[]
  onMove: (id: string) => void
  onClose: () => void
}

type Props = Walk & {
  /** Noun of the list: `device`. */
  noun: string
  /** Name of the panel for assistive technology; default: noun and name. */
  label?: string | undefined
  /** Undefined until the object has been read. */
  name: string | undefined
  icon: IconName
  /** Picture in place of the icon. */
  picture?: ReactNode
  /** Shows a long name on several lines. */
  wrapsName?: boolean
  /** Content beside the name, for example a badge. */
  aside?: ReactNode
  /** Buttons between the arrows and the closing button. */
  tools?: ReactNode
  /** Line of facts: status, owner. */
  facts?: ReactNode
  actions?: ReactNode
  /** Keys of the object, in addition to those of the panel. */
  hints?: readonly { keys: readonly string[]; does: string }[]
  children: ReactNode
}

/**
 * Object beside its list. The arrow keys and the arrows in its head move through the list. The focus moves into the
 * panel when it opens, and returns to the row of the object when it closes.
 *
 * @example <SidePanel {...walk} noun="token" icon="key" name={token?.name}>…</SidePanel>
 */
export function SidePanel(props: Props) {
  const {
    noun,
    name,
    label,
    icon,
    picture,
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
            {picture ?? <Icon name={icon} />}
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

/** Separator between the facts in the head of a panel. */
export const Dot = () => <span className="faint">·</span>

type MoveProps = { icon: 'up' | 'down'; label: string; to: string | undefined; onMove: (id: string) => void }

const Move = ({ icon, label, to, onMove }: MoveProps) => (
  <IconButton
    icon={icon}
    label={label}
    onClick={() => to && onMove(to)}
    {...(to === undefined && { offReason: 'There are no more rows on this page.' })}
  />
)

/** Moves through the list with the arrows, `j` and `k`, unless the focused control uses these keys. */
const walkKey =
  ({ id, ids, onMove }: Walk) =>
  (event: KeyboardEvent): void => {
    const step = { ArrowUp: -1, k: -1, ArrowDown: 1, j: 1 }[event.key]
    const isElsewhere = isTyping(event.nativeEvent) || closestOf(event.target, '[role="menu"], dialog')
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey || isElsewhere) return
    event.preventDefault()
    const at = ids.indexOf(id)
    const to = at < 0 ? undefined : ids[at + step]
    if (to !== undefined) onMove(to)
  }

/** Moves the focus into the panel. When the panel closes, moves it to the row of the shown object. */
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
