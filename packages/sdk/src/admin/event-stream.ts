import { ConnectionError } from '../errors.ts'

/** One block of a stream: an event, or only values to store. */
export type StreamBlock = {
  event: string
  data: string | undefined
  id: string | undefined
  retryMs: number | undefined
}

const longestBlock = 1024 * 1024

/**
 * Parses `text/event-stream` (HTML standard §9.2.6): lines end in CR, LF or both, a comment begins with a colon,
 * unknown fields are skipped, and an unfinished block is dropped.
 *
 * @throws ConnectionError if a block is longer than 1 MiB.
 */
export async function* readEventStream(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<StreamBlock> {
  // The decoder drops a byte order mark.
  const decoder = new TextDecoder()
  let text = ''
  let block = newBlock()
  for await (const piece of bytes) {
    text += decoder.decode(piece, { stream: true })
    let from = 0
    for (;;) {
      const end = endOfLine(text, from)
      if (!end) break
      const line = text.slice(from, end.at)
      from = end.next
      if (line !== '') addLine(block, line)
      else {
        if (block.lines.length > 0 || block.id !== undefined || block.retryMs !== undefined) yield asRead(block)
        block = newBlock()
      }
    }
    text = text.slice(from)
    if (text.length + block.length > longestBlock)
      throw new ConnectionError('An event of the stream is longer than 1 MiB.')
  }
}

type Block = { event: string; lines: string[]; length: number; id: string | undefined; retryMs: number | undefined }
const newBlock = (): Block => ({ event: '', lines: [], length: 0, id: undefined, retryMs: undefined })
const asRead = ({ event, lines, id, retryMs }: Block): StreamBlock => ({
  event: event || 'message',
  data: lines.length > 0 ? lines.join('\n') : undefined,
  id,
  retryMs,
})

/** A CR at the end of the text may be the first half of a line end. */
function endOfLine(text: string, from: number): { at: number; next: number } | undefined {
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\n') return { at: i, next: i + 1 }
    if (text[i] !== '\r') continue
    if (i + 1 === text.length) return undefined
    return { at: i, next: text[i + 1] === '\n' ? i + 2 : i + 1 }
  }
  return undefined
}

function addLine(block: Block, line: string): void {
  block.length += line.length
  const colon = line.indexOf(':')
  if (colon === 0) return
  const name = colon < 0 ? line : line.slice(0, colon)
  const rest = colon < 0 ? '' : line.slice(colon + 1)
  const value = rest.startsWith(' ') ? rest.slice(1) : rest
  if (name === 'event') block.event = value
  else if (name === 'data') block.lines.push(value)
  else if (name === 'id' && !value.includes('\0')) block.id = value
  else if (name === 'retry' && /^\d+$/.test(value)) block.retryMs = Number(value)
}
