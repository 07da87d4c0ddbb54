import { useSyncExternalStore } from 'react'

const probeMs = 3_000
const listeners = new Set<() => void>()
/** Time at which the connection was lost, in milliseconds of `Date.now()`; undefined while the server answers. */
let lostAt: number | undefined
let probe: ReturnType<typeof setInterval> | undefined

const tell = () => {
  for (const listener of listeners) listener()
}

/** Records that a response arrived. Its status does not matter. */
export function markReached(): void {
  if (lostAt === undefined) return
  lostAt = undefined
  clearInterval(probe)
  tell()
}

/** Records that a request got no response. Then checks every 3 s whether the server answers again. */
export function markLost(): void {
  if (lostAt !== undefined) return
  lostAt = Date.now()
  probe = setInterval(() => {
    if (!document.hidden) void checkConnection()
  }, probeMs)
  tell()
}

/** Checks whether the server answers. Reads the response to its end: an unread one would keep a connection busy. */
export async function checkConnection(): Promise<void> {
  if (document.hidden) return
  const answer = fetch('/healthz', { cache: 'no-store' }).then((response) => response.text())
  await answer.then(markReached, markLost)
}

window.addEventListener('offline', markLost)
window.addEventListener('online', () => void checkConnection())

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns the time at which the connection was lost; undefined while the server answers. */
export const useLostAt = (): number | undefined => useSyncExternalStore(subscribe, () => lostAt)
