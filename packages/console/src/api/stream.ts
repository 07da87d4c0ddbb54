import { urlOf } from './client.ts'
import { checkConnection } from './connection.ts'
import { queryClient } from './query-client.ts'

/** Interval in which the page reads its data while it has no stream. */
/** Age of a page in ms up to which its first reads count as current when the stream opens. */
const freshMs = 2_000
const pollMs = 10_000

/** Handlers of the stream's events, by the name of the event. */
type StreamTakers = Readonly<Record<string, (data: unknown) => void>>

/**
 * Follows the stream of changes while the page is visible, and opens it again after it broke. Without a stream, the
 * shown data is read every 10 s. A hidden page has no stream and sends no requests.
 *
 * @param takers get the data of each event; the stream itself handles `ready`, `reset` and `end`
 */
export function followStream(takers: StreamTakers): void {
  let source: EventSource | undefined
  // Events between two streams are lost.
  let missed = false
  let isReplaced = false
  const readAgain = () => void queryClient.invalidateQueries()
  const close = () => {
    source?.close()
    source = undefined
    missed = true
  }
  const open = () => {
    close()
    source = new EventSource(urlOf('/v1/admin/stream', {}, {}))
    source.addEventListener('ready', () => {
      if (missed) readAgain()
      missed = false
    })
    source.addEventListener('reset', readAgain)
    source.addEventListener('end', (event) => {
      // Another page of this session took over the stream. This page polls from now on, else the two would alternate.
      isReplaced = (JSON.parse(event.data) as { reason: string }).reason === 'replaced'
      if (isReplaced) close()
      void queryClient.invalidateQueries({ queryKey: ['GET /v1/admin/me'] })
    })
    for (const [name, take] of Object.entries(takers))
      source.addEventListener(name, (event) => take(JSON.parse((event as MessageEvent<string>).data)))
    source.onerror = () => void checkConnection()
  }
  const beat = () => {
    if (document.hidden || source?.readyState === EventSource.OPEN) return
    readAgain()
    if (!isReplaced && source?.readyState !== EventSource.CONNECTING) open()
  }
  document.addEventListener('visibilitychange', () => {
    isReplaced = false
    if (document.hidden) return close()
    open()
    readAgain()
  })
  setInterval(beat, pollMs)
  if (!document.hidden) open()
  // The first reads may be as old as the page, which announces them: their changes until now were not sent.
  missed = performance.now() > freshMs
}
