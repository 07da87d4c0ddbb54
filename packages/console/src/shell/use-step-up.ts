import { useCallback, useEffect, useRef, useState } from 'react'
import { setStepUp } from '../api/step-up.ts'

/** Shows the question for a one-time code when a change needs one, and hands on whether it was answered. */
export function useStepUp(): { isStepUp: boolean; answer: (isDone: boolean) => void } {
  const [isStepUp, setAsking] = useState(false)
  const resolve = useRef<((isDone: boolean) => void) | undefined>(undefined)
  useEffect(() => {
    setStepUp(
      () =>
        new Promise((done) => {
          resolve.current = done
          setAsking(true)
        }),
    )
    return () => setStepUp(undefined)
  }, [])
  const answer = useCallback((isDone: boolean) => {
    setAsking(false)
    resolve.current?.(isDone)
  }, [])
  return { isStepUp, answer }
}
