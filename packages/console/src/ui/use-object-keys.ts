import { useEffect } from 'react'
import { isTyping } from './is-typing.ts'

/**
 * Registers the keys of an object on its own page. They act unless a person types or a dialog is open.
 *
 * @param verbs functions by key, the same object in each render
 * @example useObjectKeys(useMemo(() => ({ e: edit }), [edit]))
 */
export function useObjectKeys(verbs: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isOurs = !event.defaultPrevented && !event.altKey && !event.ctrlKey && !event.metaKey && !isTyping(event)
      const verb = isOurs && !document.querySelector('dialog[open]') ? verbs[event.key] : undefined
      if (!verb) return
      event.preventDefault()
      verb()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [verbs])
}
