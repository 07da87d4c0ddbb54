import { useEffect, useState } from 'react'

/**
 * Counts seconds down and calls `onEnd` once at zero.
 *
 * @param seconds - where it starts; undefined does not count
 * @example const left = useCountdown(error.retryAfterSeconds, retry)
 */
export function useCountdown(seconds: number | undefined, onEnd: () => void): number | undefined {
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    if (left === undefined) return
    const timer = setTimeout(() => {
      if (left > 1) return setLeft(left - 1)
      setLeft(undefined)
      onEnd()
    }, 1000)
    return () => clearTimeout(timer)
  }, [left, onEnd])
  return left
}
