import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises'
import { second } from '../../../kernel/time.ts'
import { octetCounted } from '../../audit/index.ts'
import { tlsOf } from './answers.ts'
import type { Send, Sent } from './sink.ts'

const connectMs = 10 * second
/** A receiver that reads nothing for this time has stalled. */
const stalledMs = 15 * second
/** Pause between the last message and the end of our side, in ms: longer than a round trip. */
const shortestPause = 5
const longestPause = 250

/**
 * RFC 5424 over TLS (RFC 5425) or TCP, with octet counting (RFC 6587 §3.4.1). Syslog has no acknowledgement, and data
 * in the buffers of a broken connection is lost. So each batch has a connection of its own. We end our side, and the
 * receiver ends its side after it has read everything. That end, without a reset, counts as the acknowledgement. If the
 * receiver ends first or resets, the batch is sent again.
 */
export const sendSyslog: Send = async ({ outbound }, { kind, destination }, { events }, signal) => {
  const { host, port } = destination
  const tls = kind === 'syslog_tls' && { tls: tlsOf(destination) }
  const began = performance.now()
  const socket = await outbound.connect({ host: host ?? '', port: port ?? 0, ...tls }, { timeoutMs: connectMs, signal })
  const pause = Math.min(Math.max(shortestPause, performance.now() - began), longestPause)
  const watch = new AbortController()
  const over = AbortSignal.any([signal, watch.signal])
  const end = ended(socket, over)
  try {
    await Promise.race([write(socket, events.map(({ text }) => octetCounted(text)).join(''), over), end.then(early)])
    // Detects a receiver that closed while we were writing, so that its end is not taken for an answer to ours.
    await Promise.race([delay(pause, undefined, { signal: over }), end.then(early)])
    // A late timer fires before data that arrived in the meantime is read.
    await Promise.race([immediate(undefined, { signal: over }), end.then(early)])
    socket.end()
    await Promise.race([end, stalled(stalledMs, over)])
    return { outcome: 'taken', answer: 'The receiver has read the event.' }
  } catch (e) {
    signal.throwIfAborted()
    return { outcome: 'later', answer: e instanceof SyslogError ? e.message : 'The receiver reset the connection.' }
  } finally {
    watch.abort()
    end.catch(() => {})
    socket.destroy()
  }
}

class SyslogError extends Error {}
const early = (): Sent => {
  throw new SyslogError('The receiver closed the connection before it had read all events.')
}
async function stalled(ms: number, signal: AbortSignal): Promise<never> {
  await delay(ms, undefined, { signal })
  throw new SyslogError('The receiver did not read all events in time, or did not close its side of the connection.')
}

/** Resolves when the other side ends. Rejects if the connection breaks. */
async function ended(socket: Socket, signal: AbortSignal): Promise<void> {
  socket.resume()
  const broken = once(socket, 'close', { signal }).then(() => {
    throw new SyslogError('The receiver reset the connection.')
  })
  broken.catch(() => {})
  await Promise.race([once(socket, 'end', { signal }), broken])
}

async function write(socket: Socket, text: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.write(text, (e) => (e ? reject(new SyslogError('The receiver reset the connection.')) : resolve()))
  await Promise.race([promise, stalled(stalledMs, signal)])
}
