import { type ReactNode, useEffect, useSyncExternalStore } from 'react'
import { setAnnouncer } from './announce.ts'
import { AppLink } from './app-link.tsx'
import { Icon } from './icon.tsx'
import { IconButton } from './icon-button.tsx'
import './ui.css'

type Toast = {
  /** Object and result: `kst-mbp-0142 revoked`. */
  title: string
  text?: ReactNode
  /** `bad` stays until it is dismissed. */
  kind?: 'ok' | 'bad' | undefined
  link?: { to: string; label: string } | undefined
}
type Shown = Toast & { id: number }

const shownForMs = 6000
/** Most toasts at a time, since more would cover the page. A new one removes the oldest. */
const atMost = 4
let shown: readonly Shown[] = []
let lastId = 0
const listeners = new Set<() => void>()

function show(next: readonly Shown[]) {
  shown = next
  for (const listener of listeners) listener()
}
const dismiss = (id: number) => show(shown.filter((one) => one.id !== id))
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * Shows a result for 6 s. A failure stays until dismissed, and is shown where it happened too.
 *
 * @example toast({ title: 'kst-mbp-0142 revoked', text: '24 of 25 gateways confirmed' })
 */
export function toast(one: Toast): void {
  lastId += 1
  show([...shown, { ...one, id: lastId }].slice(-atMost))
}

/** Container of the toasts and of the live region. The shell renders it once. */
export function Toasts() {
  const toasts = useSyncExternalStore(subscribe, () => shown)
  return (
    <>
      <div ref={setAnnouncer} className="vh" role="status" />
      <div className="toasts" role="log" aria-live="polite" aria-label="Notifications">
        {toasts.map((one) => (
          <ToastCard key={one.id} {...one} />
        ))}
      </div>
    </>
  )
}

function ToastCard({ id, title, text, kind = 'ok', link }: Shown) {
  useEffect(() => {
    if (kind === 'bad') return
    const timer = setTimeout(() => dismiss(id), shownForMs)
    return () => clearTimeout(timer)
  }, [id, kind])
  return (
    <div className="toast">
      <Icon name={kind === 'bad' ? 'warn' : 'check'} className={kind} />
      <div>
        <div className="strong">{title}</div>
        {text !== undefined && <div className="soft xs">{text}</div>}
        {link && (
          <AppLink className="xs" to={link.to}>
            {link.label}
          </AppLink>
        )}
      </div>
      <IconButton icon="x" label="Dismiss" onClick={() => dismiss(id)} />
    </div>
  )
}
