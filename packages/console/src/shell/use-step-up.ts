import { useCallback, useEffect, useRef, useState } from 'react'
import { setStepUp } from '../api/step-up.ts'

/** Shows the dialog for a one-time code when a change needs one, and tells the change whether the person entered it. */
export function useStepUp(): { isStepUp: boolean; answer: (isDone: boolean) => void } {
  const [isStepUp, setAsking] = useState(false)
  const resolve = useRef<((isDone: boolean) => void) | undefined>(undefined)
  useEffect(() => {
    setStepUp(
      () =>
        new Promise((done) => {
          // A second change that needs a code ends the wait of the first one.
          resolve.current?.(false)
          resolve.current = done
          setAsking(true)
        }),
    )
    return () => setStepUp(undefined)
  }, [])
  const answer = useCallback((isDone: boolean) => {
    setAsking(false)
    resolve.current?.(isDone)
    resolve.current = undefined
  }, [])
  return { isStepUp, answer }
}
