import { useEffect, useEffectEvent, useState } from 'react'

/**
 * Counts seconds down and calls `onEnd` once at zero.
 *
 * @param seconds - the first value
 * @param cause - the reason to count, for example the error; a new one restarts the count
 * @returns the remaining seconds; undefined at the end
 * @example const left = useCountdown(error.retryAfterSeconds, error, retry)
 */
export function useCountdown(seconds: number, cause: unknown, onEnd: () => void): number | undefined {
  const [count, setCount] = useState<{ cause: unknown; left: number | undefined }>({ cause, left: seconds })
  if (count.cause !== cause) setCount({ cause, left: seconds })
  const end = useEffectEvent(onEnd)
  useEffect(() => {
    const { left } = count
    if (left === undefined) return
    const timer = setTimeout(() => {
      // A hidden page sends no requests, so the count stops at 1.
      const next = left > 1 ? left - 1 : document.hidden ? left : undefined
      setCount({ cause: count.cause, left: next })
      if (next === undefined) end()
    }, 1000)
    return () => clearTimeout(timer)
  }, [count])
  return count.left
}
