/** Many requests as one block of memory, so that they pass to another process in one piece. */
export type Packed = { bytes: Uint8Array; ends: Uint32Array }

export function pack(requests: readonly Buffer[]): Packed {
  const ends = new Uint32Array(requests.length)
  let end = 0
  for (const [i, request] of requests.entries()) ends[i] = end += request.length
  return { bytes: Buffer.concat(requests), ends }
}

export function unpack({ bytes, ends }: Packed): Uint8Array[] {
  return Array.from(ends, (end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end))
}

export function rawRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Buffer {
  const all = {
    host: 'holdfast',
    ...headers,
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`)
}

const ownOfTheConnection = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding'])
export type RawAnswer = { status: number; headers: string[]; body: Uint8Array }

/** Parses an answer so that another server can send the same bytes. Headers that every server adds are left out. */
export function readAnswer(raw: Buffer): RawAnswer {
  const end = raw.indexOf('\r\n\r\n')
  const [first = '', ...lines] = raw.toString('latin1', 0, end).split('\r\n')
  const headers = lines.flatMap((line) => {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon)
    return ownOfTheConnection.has(name.toLowerCase()) ? [] : [name, line.slice(colon + 1).trim()]
  })
  return { status: Number(first.split(' ')[1]), headers, body: raw.subarray(end + 4) }
}

export const headerOf = ({ headers }: RawAnswer, wanted: string): string | undefined => {
  const at = headers.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === wanted)
  return at < 0 ? undefined : headers[at + 1]
}
