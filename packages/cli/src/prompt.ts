import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from './exit.ts'

export type Input = NodeJS.ReadableStream & { isTTY?: boolean }
export type Output = NodeJS.WritableStream & { isTTY?: boolean }

/** A secret from the terminal without echo, or the first line of what is piped in; never from the command line, which others can see. */
export async function readSecret(input: Input, talk: Output, question: string): Promise<string> {
  const secret = input.isTTY ? await ask(input, talk, question, true) : firstLine(await readAll(input))
  if (secret === '') throw new UsageError(`${question}: nothing was given.`)
  return secret
}

export async function confirm(input: Input, talk: Output, question: string): Promise<boolean> {
  if (!input.isTTY) return false
  return /^y(es)?$/i.test((await ask(input, talk, `${question} [y/N]`, false)).trim())
}

export async function readAll(input: Input): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

const firstLine = (text: string): string => text.split(/\r?\n/, 1)[0] ?? ''

/** readline keeps the terminal in raw mode and echoes into its output, so a secret gets an output that swallows. */
async function ask(input: Input, talk: Output, question: string, hidden: boolean): Promise<string> {
  talk.write(`${question}: `)
  const output = hidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : talk
  const lines = createInterface({ input, output, terminal: true })
  try {
    const closed = new Promise<never>((_, reject) => lines.once('close', () => reject(new UsageError('Cancelled.'))))
    return await Promise.race([lines.question(''), closed])
  } finally {
    lines.close()
    if (hidden) talk.write('\n')
  }
}
