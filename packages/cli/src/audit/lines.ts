import { createReadStream } from 'node:fs'
import { UsageError } from '../exit.ts'

/** Longer than any event. */
const longestLine = 16 * 1024 * 1024
const newline = 0x0a

/** The lines of a file that are not empty, of which it holds one at a time. */
export async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    let from = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, from)) {
      if (end > from) yield bytes.subarray(from, end)
      from = end + 1
    }
    rest = bytes.subarray(from)
    if (rest.length > longestLine) throw new UsageError(`${path} is not an export of events, one on each line.`)
  }
  if (rest.length > 0) yield rest
}
