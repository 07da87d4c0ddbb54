import { urlOf } from './client.ts'
import { checkConnection } from './connection.ts'
import { queryClient } from './query-client.ts'

/** Without a stream the page reads what it shows so often. */
const pollMs = 10_000

/** What a stream tells, by the name of its event. */
type StreamTakers = Readonly<Record<string, (data: unknown) => void>>

/**
 * Follows the stream of changes while the page is visible, and opens it again after it broke. While there is none, what
 * is shown is read every 10 s. A hidden page has no stream and sends nothing.
 *
 * @param takers get the data of each event; the stream itself takes `ready`, `reset` and `end`
 */
export function followStream(takers: StreamTakers): void {
  let source: EventSource | undefined
  // Changes between two streams were told by neither.
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
      // Another page of this session took its place: this one polls from now on, else they would take turns.
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
  missed = false
}
