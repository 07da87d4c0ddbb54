import { useEffect, useState } from 'react'
import { dropDraft, holdDraft, keptDraft } from '../api/drafts.ts'
import { useStable } from './use-stable.ts'

/**
 * State of a form that outlives a new sign-in. The value is stored only when the page leaves for the sign-in while the
 * form is open; saving or closing the form forgets it. Never use it for a secret.
 *
 * @param name of the form and its object: `edit dev_01…`
 * @example const [reason, setReason] = useDraft(`reason ${title}`, '')
 */
export function useDraft<T>(name: string, initial: T) {
  const [first] = useState(initial)
  const [value, setValue] = useState(() => (keptDraft(name) as T | undefined) ?? first)
  const current = useStable(() => (value === first ? undefined : value))
  useEffect(() => {
    const release = holdDraft(name, current)
    return () => {
      release()
      dropDraft(name)
    }
  }, [name, current])
  return [value, setValue] as const
}
