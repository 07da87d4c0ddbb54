import { useEffect, useState } from 'react'
import { dropDraft, holdDraft, keptDraft } from '../api/drafts.ts'
import { useStable } from './use-stable.ts'

/**
 * State of a form that survives a new sign-in. The value is stored only if the page leaves for the sign-in while the
 * form is open. Saving or closing the form drops it. Never use it for a secret.
 *
 * @param name key of the form and its object: `edit dev_01…`
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
