import { type RefObject, useEffect } from 'react'
import { closestOf } from '../ui/closest.ts'
import { isTyping } from '../ui/is-typing.ts'
import type { Selection } from './selection.ts'

type Keys = {
  selection: Selection | undefined
  /** Object in the panel. The keys act on it while no row has the focus. */
  openId: string | undefined
  onRefresh: () => void
  onEscape: () => void
  /** Keys of the list itself. They get the id of the focused row, or of the object in the panel. */
  verbs?: Readonly<Record<string, (id: string) => void>>
}

/**
 * Registers the keys of a list: `j` `k` `↑` `↓` move, `x` selects, `Shift X` a range, `Ctrl A` the page, `R` refreshes,
 * `Esc` clears. `Enter` opens, as for every link.
 */
export function useListKeys(list: RefObject<HTMLElement | null>, keys: Keys): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || isTyping(event) || document.querySelector('dialog[open]')) return
      if (take(event, list.current, keys)) event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [list, keys])
}

function take(event: KeyboardEvent, list: HTMLElement | null, keys: Keys): boolean {
  const { selection } = keys
  const links = Array.from(list?.querySelectorAll<HTMLElement>('[data-row-link]') ?? [])
  const at = links.findIndex((link) => link.closest('tr')?.contains(document.activeElement))
  const id = links[at]?.closest('tr')?.dataset.id
  const isInMenu = closestOf(document.activeElement, '[role="menu"], [role="listbox"], [role="tablist"]') !== null
  if (event.ctrlKey || event.metaKey) {
    if (event.key !== 'a' || !selection || at < 0) return false
    selection.togglePage()
    return true
  }
  if (isInMenu) return false
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key]
  if (step !== undefined) {
    if (event.key.startsWith('Arrow') && at < 0) return false
    links[Math.min(Math.max(at + step, 0), links.length - 1)]?.focus()
    return true
  }
  if (id && selection && event.key.toLowerCase() === 'x') {
    if (event.key === 'x') selection.toggle(id)
    else selection.extendTo(id)
    return true
  }
  if (event.key === 'R') {
    keys.onRefresh()
    return true
  }
  if (event.key === 'Escape') {
    keys.onEscape()
    // Other listeners close what is open.
    return false
  }
  const meant = id ?? keys.openId
  const verb = meant === undefined ? undefined : keys.verbs?.[event.key]
  if (!verb || meant === undefined) return false
  verb(meant)
  return true
}
