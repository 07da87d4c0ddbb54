import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../kernel/app-error.ts'
import type { Streamed } from '../kernel/streamed.ts'
import { second } from '../kernel/time.ts'
import type { Pace } from './pace.ts'
import { goneSignal } from './representation.ts'

/**
 * Sends what is made while it is sent. What fails on the way cuts the connection: nobody takes it for the whole. In
 * HTTP/1.0 the end of the connection is the end of every body without a length, so that nobody could tell.
 */
export async function sendStreamed(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, filename, open }: Streamed,
  pace: Pace,
): Promise<void> {
  if (request.raw.httpVersion === '1.0')
    fail(
      'bad_request',
      'this needs HTTP/1.1, in which an answer that broke off can be told (nginx: proxy_http_version 1.1)',
    )
  const ended = goneSignal(reply.raw)
  if (ended.aborted) return void reply.send()
  const bytes = request.method === 'HEAD' ? undefined : await open(ended, request.admission?.stands ?? never)
  reply.code(200).header('content-type', type)
  if (filename !== undefined) reply.header('content-disposition', `attachment; filename="${filename}"`)
  // A proxy such as nginx must hand on each event as it comes.
  else reply.headers({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
  if (!bytes) return void reply.send()
  // Whoever returns before the head is out would have it sent again, empty.
  const waiting: Readable = Readable.from(
    takenInTime(bytes, reply.raw, pace, () => waiting.readableLength + reply.raw.writableLength),
    { objectMode: false },
  )
  await reply.send(waiting)
}

/** Of whom nobody can say so. */
const never = async () => undefined

/**
 * Cuts an answer that is not taken at its pace. Unlike that of a download it counts only while something waits to be
 * taken: what is looked for may be rare. Who was fast before has no more grace than others. `left`: the bytes that
 * still wait once all are made.
 */
async function* takenInTime(
  bytes: AsyncIterable<Uint8Array>,
  response: ServerResponse,
  { graceMs, bytesPerSecond }: Pace,
  left: () => number,
) {
  let leftMs = graceMs
  for await (const piece of bytes) {
    leftMs = Math.min(leftMs, graceMs) + (piece.length / bytesPerSecond) * second
    const since = performance.now()
    const timer = setTimeout(() => response.destroy(), leftMs).unref()
    try {
      yield piece
    } finally {
      clearTimeout(timer)
      leftMs -= performance.now() - since
    }
  }
  if (response.closed) return
  const last = setTimeout(() => response.destroy(), graceMs + (left() / bytesPerSecond) * second).unref()
  response.once('close', () => clearTimeout(last))
}
