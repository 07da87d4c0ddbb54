import {
  createContext,
  type KeyboardEvent,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { Button } from './button.tsx'
import { IconButton } from './icon-button.tsx'
import './ui.css'

/** Open modal dialog. A popover must be inside it, since everything outside is inert. */
const OverlayElement = createContext<HTMLElement | undefined>(undefined)
/** Returns the element for a popover: the dialog around it, or undefined for the page. */
export const useOverlayElement = () => useContext(OverlayElement)

export type OverlayProps = {
  title: ReactNode
  onClose: () => void
  footer?: ReactNode
  /**
   * Reason to ask at the first Esc or × before closing. `typed`: there is unsaved input; `secret`: a secret is shown
   * only once.
   */
  isHeld?: 'typed' | 'secret' | false | undefined
  children: ReactNode
}
type ModalProps = OverlayProps & { place: 'center' | 'right'; look: string; role?: 'alertdialog' | undefined }

/**
 * Modal dialog of the browser: the page behind it is inert, and closing it returns the focus.
 *
 * @example <Modal place="center" look="dialog" title="Rename device" onClose={close}>…</Modal>
 */
export function Modal({ title, onClose, footer, isHeld = false, children, place, look, role }: ModalProps) {
  const headId = useId()
  const [element, setElement] = useState<HTMLDialogElement | null>(null)
  const [askedAt, setAskedAt] = useState<Element | null>()
  useModal(element)
  const isAsking = askedAt !== undefined
  const close = () => (isHeld ? setAskedAt(document.activeElement) : onClose())
  const stay = () => {
    setAskedAt(undefined)
    if (askedAt instanceof HTMLElement) askedAt.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return
    event.preventDefault()
    event.stopPropagation()
    if (isAsking) stay()
    else close()
  }
  return (
    <dialog
      ref={setElement}
      role={role}
      className={`backdrop ${place}`}
      aria-labelledby={headId}
      onCancel={(event) => {
        event.preventDefault()
        if (!isAsking) close()
      }}
      onKeyDown={onKeyDown}
    >
      <OverlayElement value={element ?? undefined}>
        <div className={look} tabIndex={-1}>
          <header>
            <h2 id={headId}>{title}</h2>
            <IconButton icon="x" label="Close" onClick={close} />
          </header>
          <Body headId={headId}>{children}</Body>
          {isAsking && isHeld ? (
            <Ask held={isHeld} onStay={stay} onClose={onClose} />
          ) : (
            footer !== undefined && <footer>{footer}</footer>
          )}
        </div>
      </OverlayElement>
    </dialog>
  )
}

/** Scrolling part. It takes the focus, so that a keyboard can scroll it. */
const Body = ({ headId, children }: { headId: string; children: ReactNode }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
  // biome-ignore lint/a11y/useSemanticElements: it is no set of fields
  <div className="body" tabIndex={0} role="group" aria-labelledby={headId}>
    {children}
  </div>
)

const questions = {
  typed: { text: 'Close and lose what you typed?', stay: 'Keep editing', close: 'Discard' },
  secret: { text: 'Close? The secret is not shown again.', stay: 'Keep it open', close: 'Close for good' },
} as const

function Ask({ held, onStay, onClose }: { held: 'typed' | 'secret'; onStay: () => void; onClose: () => void }) {
  const { text, stay, close } = questions[held]
  const safe = useRef<HTMLButtonElement>(null)
  useEffect(() => safe.current?.focus(), [])
  return (
    <footer role="alert">
      <span className="strong grow">{text}</span>
      <Button ref={safe} onClick={onStay}>
        {stay}
      </Button>
      <Button kind="danger" onClick={onClose}>
        {close}
      </Button>
    </footer>
  )
}

const fields = 'input:not([type=hidden], :disabled), select:not(:disabled), textarea:not(:disabled), [contenteditable]'

/** Opens the dialog, focuses its first field or its safe button, and returns the focus when it closes. */
function useModal(element: HTMLDialogElement | null) {
  useEffect(() => {
    if (!element) return
    const before = document.activeElement
    element.showModal()
    const first =
      element.querySelector<HTMLElement>('[data-autofocus]') ??
      element.querySelector<HTMLElement>(`.body :is(${fields})`) ??
      element.querySelector<HTMLElement>('footer .btn')
    first?.focus()
    return () => {
      element.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [element])
}
