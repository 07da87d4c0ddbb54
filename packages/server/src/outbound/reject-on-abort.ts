/** Waits for work that can't be cancelled, until the signal aborts. Rejects with the signal's reason then. */
export function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', stop))
}
