import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useCan } from '../api/me.ts'
import { features } from '../features.ts'
import { isTyping } from '../ui/is-typing.ts'
import { isPaletteOpen, openOverlay, takeEarly, typeEarly } from './overlay.ts'

const sequenceMs = 1_500

const isInDialog = () => document.querySelector('dialog[open]') !== null

/** Registers the global keys: `Ctrl K` palette, `?` help, `/` filter of the list, `g` and a letter to open a view. */
export function useShortcuts(): void {
  const navigate = useNavigate()
  const can = useCan()
  useEffect(() => {
    let wentAt = 0
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k' && !isInDialog()) {
        event.preventDefault()
        takeEarly()
        openOverlay({ kind: 'palette' })
        return
      }
      if (isPaletteOpen() && !isInDialog() && !event.ctrlKey && !event.metaKey) {
        event.preventDefault()
        event.stopImmediatePropagation()
        typeEarly(event.key)
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || isInDialog()) return
      const isSecond = Date.now() - wentAt < sequenceMs
      wentAt = 0
      const feature = isSecond ? features.find((f) => f.shortcut === event.key) : undefined
      if (feature && (feature.permission === undefined || can(feature.permission))) {
        event.preventDefault()
        event.stopImmediatePropagation()
        void navigate({ to: feature.path })
      } else if (event.key === 'g') wentAt = Date.now()
      else if (event.key === '?') openOverlay({ kind: 'help' })
      else if (event.key === '/') focusFilter(event)
    }
    // Runs before the keys of lists, so that none of them handles the letter after `g`.
    window.addEventListener('keydown', onKey, { capture: true })
    return () => window.removeEventListener('keydown', onKey, { capture: true })
  }, [navigate, can])
}

function focusFilter(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLInputElement>('main .field-search input')
  if (!field) return
  event.preventDefault()
  field.focus()
  field.select()
}
