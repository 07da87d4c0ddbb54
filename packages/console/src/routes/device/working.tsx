import { type ReactNode, useEffect, useState } from 'react'

/** Shows that a long task is running, and its duration. */
export function Working({ since, children }: { since: number; children: ReactNode }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(0, Math.round((now - since) / 1000))
  return (
    <div className="working">
      <div className="bar-busy" />
      <p className="soft">
        <span role="status">{children}</span> <span className="num">{seconds} s</span>
      </p>
    </div>
  )
}
