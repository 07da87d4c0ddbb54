import { type ChangedKind, type StreamEvent, streamEvents } from '@holdfast/contract/stream'
import { backoffSeconds, jitter, type Random, sleep } from '../backoff.ts'
import type { Client } from '../client.ts'
import { ApiError, ConnectionError } from '../errors.ts'
import { readEventStream } from './event-stream.ts'

export type ChangesOptions = {
  /** Kinds of lists whose events are wanted. */
  kinds?: readonly ChangedKind[]
  /** Tenant, for platform roles. */
  tenant_id?: string | undefined
  /** Position from which to continue: the `id` of the last handled event. */
  lastEventId?: string | undefined
  signal?: AbortSignal
  /** Called before a reconnect, with its cause and the delay in seconds. */
  onRetry?: (cause: unknown, seconds: number) => void
  random?: Random
}

/** End reasons after which the same credential can open no other stream. */
const finalEnds: readonly string[] = ['session_ended', 'key_ended', 'tenant_suspended', 'replaced']
const longestWaitSeconds = 30

/**
 * Yields the changes in the tenant as they happen. After a lost connection it reconnects behind the last event, so no
 * event is missed. A `reset` event means that everything must be reloaded. Returns after a final `end`.
 *
 * @throws ApiError if the server refuses the caller.
 * @example
 * for await (const { event, data } of changes(admin, { kinds: ['devices'] }))
 * if (event === 'changed') await refetch(data.changes)
 */
export async function* changes(
  client: Pick<Client, 'streamChanges'>,
  { kinds, tenant_id, lastEventId, signal, onRetry, random = Math.random }: ChangesOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const query = { ...(kinds && { kinds: kinds.join(',') }), ...(tenant_id !== undefined && { tenant_id }) }
  let lastId = lastEventId
  let retrySeconds = 2
  for (let failures = 0; ; ) {
    let cause: unknown
    try {
      const headers = { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) }
      const bytes = await client.streamChanges({ query }, { headers, ...(signal && { signal }) })
      for await (const block of readEventStream(bytes)) {
        failures = 0
        if (block.retryMs !== undefined) retrySeconds = block.retryMs / 1000
        lastId = block.id ?? lastId
        const read = block.data === undefined ? undefined : eventOf(block.event, lastId ?? '', block.data)
        if (!read) continue
        yield read
        if (read.event === 'end' && finalEnds.includes(read.data.reason)) return
      }
    } catch (e) {
      signal?.throwIfAborted()
      if (!(e instanceof ConnectionError) && !isPassing(e)) throw e
      cause = e
      failures++
    }
    const seconds =
      failures > 0 ? backoffSeconds(failures, cause, random, longestWaitSeconds) : jitter(retrySeconds, random)
    onRetry?.(cause, seconds)
    await sleep(seconds, signal)
  }
}

const isPassing = (e: unknown): boolean => e instanceof ApiError && (e.status === 429 || e.status >= 500)

/** Returns undefined for an event of a newer server. */
function eventOf(event: string, id: string, data: string): StreamEvent | undefined {
  if (!Object.hasOwn(streamEvents, event)) return undefined
  try {
    return { event, id, data: JSON.parse(data) } as StreamEvent
  } catch {
    throw new ConnectionError(`The event ${event} of the stream is not JSON.`)
  }
}
