import type { FastifyReply, FastifyRequest } from 'fastify'
import { Download, Representation, Streamed } from '../../kernel/results.ts'
import type { MinimumRate } from '../connection/minimum-rate.ts'
import { Answer } from './answer.ts'
import { sendDownload } from './download.ts'
import { EncodedFile, encodedOnce, sendEncoded } from './encoded-file.ts'
import { HtmlPage, type HtmlPageAnswer } from './html-page.ts'
import { mediaTypeOf } from './protocol.ts'
import { isKnown } from './representation.ts'
import { sendStreamed } from './streamed.ts'

/**
 * Sends a result. This function and `sendEncoded` alone decide 304. The status of success is already set. A HEAD is
 * answered like its GET; Node omits the body.
 */
export function send(
  request: FastifyRequest,
  reply: FastifyReply,
  result: unknown,
  pace: MinimumRate,
): Promise<void> | undefined {
  if (result instanceof Download) return sendDownload(request, reply, result, pace)
  if (result instanceof Streamed) return sendStreamed(request, reply, result, pace)
  sendNow(request, reply, result)
  return undefined
}

function sendNow(request: FastifyRequest, reply: FastifyReply, result: unknown): void {
  if (result instanceof Representation) {
    const { etag, content } = result
    if (etag !== undefined) void reply.header('etag', etag)
    if (isKnown(request.headers['if-none-match'], etag)) void reply.code(304).send()
    else void reply.code(200).header('content-type', mediaTypeOf(request.url)).send(content)
    return
  }
  if (!(result instanceof Answer)) {
    if (reply.statusCode === 204) void reply.send()
    else void reply.header('content-type', mediaTypeOf(request.url)).send(result)
    return
  }
  void reply.code(result.status ?? reply.statusCode)
  if (result.body !== null && !('content-type' in result.headers))
    void reply.header('content-type', mediaTypeOf(request.url))
  void reply.headers(result.headers).send(contentOf(request, result.body) ?? undefined)
}

const contentOf = <T>({ headers }: FastifyRequest, body: T | HtmlPage): T | Buffer =>
  body instanceof HtmlPage ? body.render(headers.cookie) : body

export const sendPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  { status = 200, headers, body, isRevalidated = false }: HtmlPageAnswer,
): FastifyReply => {
  reply.code(status).headers(headers)
  if (body instanceof EncodedFile) return sendEncoded(request, reply, body)
  const content = contentOf(request, body)
  return isRevalidated ? sendEncoded(request, reply, encodedOnce(content)) : reply.send(content)
}
