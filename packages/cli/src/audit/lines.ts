import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { attempt } from '../files.ts'

/** Limit in bytes, longer than any event or manifest. */
const longestLine = 16 * 1024 * 1024
const newline = 0x0a
/** RFC 1952 §2.3.1 */
const gzipMagic = Buffer.of(0x1f, 0x8b)

/** A line is too long for an event. The rest is not read. */
export class TooLong extends Error {
  override readonly name = 'TooLong'
}

type Chunks = AsyncIterable<Buffer | string>

/** Reads a file, or standard input for `-`. Decompresses gzip. */
export const bytesOfFile = (path: string, input: Chunks): AsyncGenerator<Buffer> =>
  unpacked(path, readable(path, path === '-' ? input : createReadStream(path, { highWaterMark: 256 * 1024 })))

/** Reads the lines of a file, each with its newline. */
export const linesOfFile = (path: string, input: Chunks): AsyncGenerator<Buffer> => linesOf(bytesOfFile(path, input))

async function* readable(path: string, chunks: Chunks): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
  } catch (e) {
    await attempt(`${path} can't be read`, () => Promise.reject(e))
  }
}

async function* unpacked(path: string, bytes: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const { done, value: first } = await bytes.next()
  if (done) return
  async function* all() {
    yield first
    yield* bytes
  }
  if (!first.subarray(0, 2).equals(gzipMagic)) return yield* all()
  const plain = createGunzip({ chunkSize: 256 * 1024 })
  // Errors are thrown when the plain bytes are read.
  pipeline(all, plain, () => {})
  yield* readable(path, plain)
}

/** Splits bytes into lines, each with its newline. Holds one line at a time. Throws `TooLong`. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  // Received parts of the next line, joined at its end.
  let begun: Buffer[] = []
  let length = 0
  for await (const bytes of chunks) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const piece = chunk.subarray(from, end + 1)
      yield begun.length > 0 ? Buffer.concat([...begun, piece]) : piece
      from = end + 1
      if (begun.length > 0) begun = []
      length = 0
    }
    if (from < chunk.length) begun.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > longestLine) throw new TooLong('the line is longer than 16 MiB, which no event is')
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}
