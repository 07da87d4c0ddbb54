import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Streamed } from '../kernel/streamed.ts'
import { second } from '../kernel/time.ts'
import type { Pace } from './pace.ts'

/** Sends what is made while it is sent. What fails on the way cuts the connection: nobody takes it for the whole. */
export async function sendStreamed(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, filename, open }: Streamed,
  pace: Pace,
): Promise<void> {
  const ended = new AbortController()
  reply.raw.once('close', () => ended.abort())
  const bytes = request.method === 'HEAD' ? undefined : await open(ended.signal)
  reply.code(200).headers({ 'content-type': type, 'content-disposition': `attachment; filename="${filename}"` })
  if (!bytes) return void reply.send()
  // Whoever returns before the head is out would have it sent again, empty.
  await reply.send(Readable.from(takenInTime(bytes, reply.raw, pace), { objectMode: false }))
}

/**
 * Cuts an answer that is not taken at its pace. Unlike that of a download it counts only while something waits to be
 * taken: what is looked for may be rare. Who was fast before has no more grace than others.
 */
async function* takenInTime(
  bytes: AsyncIterable<Uint8Array>,
  response: ServerResponse,
  { graceMs, bytesPerSecond }: Pace,
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
}
