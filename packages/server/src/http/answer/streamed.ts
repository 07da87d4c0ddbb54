import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../kernel/app-error.ts'
import type { Streamed } from '../../kernel/results.ts'
import { second } from '../../kernel/time.ts'
import type { MinimumRate } from '../connection/minimum-rate.ts'
import { goneSignal } from './representation.ts'

/**
 * Sends bytes while they are generated. An error on the way cuts the connection, so that the client sees an incomplete
 * response. In HTTP/1.0 the end of the connection ends every body without a length, so an error would be invisible.
 */
export async function sendStreamed(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, filename, open }: Streamed,
  pace: MinimumRate,
): Promise<void> {
  if (request.raw.httpVersion === '1.0')
    fail(
      'bad_request',
      'send this request with HTTP/1.1: HTTP/1.0 cannot show that an answer is incomplete (nginx: proxy_http_version 1.1)',
    )
  const ended = goneSignal(reply.raw)
  if (ended.aborted) return void reply.send()
  const bytes = request.method === 'HEAD' ? undefined : await open(ended, request.admission?.stands ?? never)
  reply.code(200).header('content-type', type)
  if (filename !== undefined) reply.header('content-disposition', `attachment; filename="${filename}"`)
  // A proxy such as nginx must forward each event at once.
  else reply.headers({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
  if (!bytes) return void reply.send()
  // Returning before the head is sent would make Fastify send an empty response too.
  const waiting: Readable = Readable.from(
    takenInTime(bytes, reply.raw, pace, () => waiting.readableLength + reply.raw.writableLength),
    { objectMode: false },
  )
  await reply.send(waiting)
}

/** For requests whose credential can't be checked again. */
const never = async () => undefined

/**
 * Cuts a response that is read below the minimum rate. Unlike for a download, time counts only while bytes wait to be
 * read, since events may be rare. A fast start gives no extra grace. `left`: the bytes that still wait once all are
 * generated.
 */
async function* takenInTime(
  bytes: AsyncIterable<Uint8Array>,
  response: ServerResponse,
  { graceMs, bytesPerSecond }: MinimumRate,
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
