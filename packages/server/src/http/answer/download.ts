import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../kernel/app-error.ts'
import type { ByteRange, Download } from '../../kernel/results.ts'
import { cutWhenSlow, type MinimumRate } from '../connection/minimum-rate.ts'
import { isKnown } from './representation.ts'

/**
 * Sends bytes while they are read: decides between 304, a range and the whole (RFC 9110 §13, §14). The API has no
 * status 416: an unsatisfiable range is 400, with the size.
 */
export async function sendDownload(
  request: FastifyRequest,
  reply: FastifyReply,
  download: Download,
  pace: MinimumRate,
): Promise<void> {
  const { size, sha256, filename } = download
  const etag = `"${sha256}"`
  const { headers } = request
  reply.headers({
    etag,
    'accept-ranges': 'bytes',
    'content-disposition': `attachment; filename="${filename}"`,
    'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
  })
  if (isKnown(headers['if-none-match'], etag)) return void reply.code(304).send()
  const isHead = request.method === 'HEAD'
  // A date in If-Range never matches, since there is no Last-Modified.
  const isPartWanted = !isHead && (headers['if-range'] === undefined || headers['if-range'] === etag)
  const range = isPartWanted ? rangeOf(headers.range, size) : undefined
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${size}`)
    for (const name of ['etag', 'accept-ranges', 'content-disposition', 'repr-digest']) reply.removeHeader(name)
    throw new AppError('bad_request', `Range: the content has only ${size} bytes`)
  }
  const bytes = isHead ? undefined : await download.open(range)
  if (range) reply.code(206).header('content-range', `bytes ${range.first}-${range.last}/${size}`)
  else reply.code(200)
  reply.headers({
    'content-type': 'application/octet-stream',
    'content-length': String(range ? range.last - range.first + 1 : size),
  })
  if (!bytes) return void reply.send()
  cutWhenSlow(reply.raw, pace)
  // Returning before the head is sent would make Fastify send an empty response too.
  await reply.send(bytes)
}

const onePart = /^bytes=(\d{0,15})-(\d{0,15})$/i

/**
 * Parses `Range` with one part (RFC 9110 §14.1.2, §14.2). Undefined if the whole is to be sent: for several parts,
 * another unit, or an invalid value. `unsatisfiable`: the part is out of bounds.
 */
export function rangeOf(range: string | undefined, size: number): ByteRange | undefined | 'unsatisfiable' {
  const [, from = '', to = ''] = (range === undefined ? undefined : onePart.exec(range.trim())) ?? []
  if (from === '' && to === '') return undefined
  if (from === '') {
    const suffix = Number(to)
    return suffix === 0 || size === 0 ? 'unsatisfiable' : { first: Math.max(0, size - suffix), last: size - 1 }
  }
  const [first, last] = [Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1)]
  if (to !== '' && Number(to) < first) return undefined
  return first >= size ? 'unsatisfiable' : { first, last }
}
