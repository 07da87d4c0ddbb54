import { useSyncExternalStore } from 'react'

const probeMs = 3_000
const listeners = new Set<() => void>()
/** When the server was lost, in milliseconds of `Date.now()`; undefined while it answers. */
let lostAt: number | undefined
let probe: ReturnType<typeof setInterval> | undefined

const tell = () => {
  for (const listener of listeners) listener()
}

/** After an answer, whatever it was. */
export function markReached(): void {
  if (lostAt === undefined) return
  lostAt = undefined
  clearInterval(probe)
  tell()
}

/** After a request that got no answer. Asks every 3 s whether the server is back. */
export function markLost(): void {
  if (lostAt !== undefined) return
  lostAt = Date.now()
  probe = setInterval(() => {
    if (!document.hidden) void checkConnection()
  }, probeMs)
  tell()
}

/** Asks whether the server answers. The answer is read to its end, since the browser else keeps its connection busy. */
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

/** Since when the server does not answer; undefined while it does. */
export const useLostAt = (): number | undefined => useSyncExternalStore(subscribe, () => lostAt)
