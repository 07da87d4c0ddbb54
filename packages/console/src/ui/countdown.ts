import { useEffect, useEffectEvent, useState } from 'react'

/**
 * Counts seconds down and calls `onEnd` once at zero. It starts anew with another cause.
 *
 * @param seconds - where it starts
 * @param cause - what it counts for, for example the error
 * @returns the seconds that are left; undefined at the end
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
      const next = left > 1 ? left - 1 : undefined
      setCount({ cause: count.cause, left: next })
      if (next === undefined) end()
    }, 1000)
    return () => clearTimeout(timer)
  }, [count])
  return count.left
}
