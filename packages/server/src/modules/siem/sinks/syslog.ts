import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises'
import { second } from '../../../kernel/time.ts'
import { octetCounted } from '../../audit/index.ts'
import { tlsOf } from './answers.ts'
import type { Send, Sent } from './sink.ts'

const connectMs = 10 * second
/** A receiver that reads nothing for so long has stalled. */
const stalledMs = 15 * second
/** Between the last message and our end of the connection: longer than the way there and back. */
const shortestPause = 5
const longestPause = 250

/**
 * RFC 5424 over TLS (RFC 5425) or TCP, with octet counting (RFC 6587 §3.4.1).
 *
 * Syslog has no acknowledgement, and what lies in the buffers of a connection is lost with it. So each batch has a
 * connection of its own: we end our side, and the receiver ends its own when it has read to the end. That, without a
 * reset, is the acknowledgement; one who ends before we do, or resets, is sent the batch again.
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
    // Who was closing while we wrote is heard of now, and not taken for one who answers our end.
    await Promise.race([delay(pause, undefined, { signal: over }), end.then(early)])
    // A timer that rang late rings before what arrived meanwhile is read.
    await Promise.race([immediate(undefined, { signal: over }), end.then(early)])
    socket.end()
    await Promise.race([end, stalled(stalledMs, over)])
    return { outcome: 'taken', answer: 'The receiver has read it.' }
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
  throw new SyslogError('The receiver closed the connection before it had everything.')
}
async function stalled(ms: number, signal: AbortSignal): Promise<never> {
  await delay(ms, undefined, { signal })
  throw new SyslogError('The receiver did not read everything in time, or did not close its side of the connection.')
}

/** The other side's end; rejects where the connection breaks instead. */
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
