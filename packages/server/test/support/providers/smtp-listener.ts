import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export type Received = { from: string; to: string[]; data: string; headers: Map<string, string>; text: string }

/** A minimal mail server (RFC 5321) that accepts all mail. `refuse` may answer a recipient with 550 or 451. */
export async function startSmtpListener(
  t: TestContext,
  refuse: (recipient: string) => number | undefined = () => undefined,
) {
  const letters: Received[] = []
  const commands: string[] = []
  const server = createServer((socket) => converse(socket, { letters, commands, refuse }))
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, letters, commands }
}

type Desk = { letters: Received[]; commands: string[]; refuse: (recipient: string) => number | undefined }

function converse(socket: Socket, { letters, commands, refuse }: Desk): void {
  let buffer = ''
  let from = ''
  let to: string[] = []
  let inData = false
  const say = (line: string) => void socket.write(`${line}\r\n`)

  /** The answer to a command. */
  function obey(line: string): string {
    commands.push(line)
    const [verb = '', address = ''] = /^(\w+)(?:[^<]*<([^>]*)>)?/.exec(line)?.slice(1) ?? []
    if (/^MAIL$/i.test(verb)) {
      from = address
      to = []
    }
    if (/^RCPT$/i.test(verb)) {
      const code = refuse(address)
      if (code !== undefined) return `${code} I do not take mail for ${address}`
      to.push(address)
    }
    inData = /^DATA$/i.test(verb)
    if (inData) return '354 go on'
    if (/^QUIT$/i.test(verb)) return '221 bye'
    return /^(EHLO|HELO|MAIL|RCPT|RSET|NOOP)$/i.test(verb) ? '250 ok' : '502 not here'
  }

  say('220 mail.test')
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    buffer += chunk
    for (;;) {
      const end = buffer.indexOf(inData ? '\r\n.\r\n' : '\r\n')
      if (end < 0) return
      const piece = buffer.slice(0, end)
      buffer = buffer.slice(end + (inData ? 5 : 2))
      if (inData) {
        inData = false
        letters.push({ from, to, ...parse(piece) })
        say('250 taken')
      } else {
        const answer = obey(piece)
        say(answer)
        if (answer.startsWith('221')) socket.end()
      }
    }
  })
}

/** Unfolds the headers (RFC 5322 §2.2.3) and decodes quoted-printable. */
function parse(data: string): Pick<Received, 'data' | 'headers' | 'text'> {
  const end = data.indexOf('\r\n\r\n')
  const headers = new Map<string, string>()
  for (const line of data
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')) {
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  const body = data.slice(end + 4).replaceAll(/^\.\./gm, '.')
  const bytes = body
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  const isQuoted = headers.get('content-transfer-encoding') === 'quoted-printable'
  return { data, headers, text: isQuoted ? Buffer.from(bytes, 'latin1').toString() : body }
}
