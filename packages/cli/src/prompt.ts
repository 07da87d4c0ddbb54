import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from './exit.ts'

export type Input = NodeJS.ReadableStream & { isTTY?: boolean }
export type Output = NodeJS.WritableStream & { isTTY?: boolean }

/**
 * Asks for values that must not be on the command line, where others can see them. On a terminal it asks; otherwise it
 * reads one line of stdin per question, in order.
 */
export function createPrompt(input: Input, talk: Output) {
  let piped: Promise<string[]> | undefined
  const nextLine = async () => {
    piped ??= readAll(input).then((text) => text.split(/\r?\n/))
    return (await piped).shift() ?? ''
  }
  const read = async (question: string, hidden: boolean) => {
    const text = input.isTTY ? await ask(input, talk, question, hidden) : await nextLine()
    if (text === '') throw new UsageError(`${question}: no value was entered.`)
    return text
  }
  return {
    /** Without echo. */
    secret: (question: string): Promise<string> => read(question, true),
    /** Asks for a new secret: twice on a terminal. */
    newSecret: async (question: string): Promise<string> => {
      const secret = await read(question, true)
      if (input.isTTY && (await read(`${question} again`, true)) !== secret)
        throw new UsageError('The two values differ. Nothing was changed.')
      return secret
    },
    /** Asks for a one-time code. Apps show it with a space in the middle. */
    code: async (question: string): Promise<string> => {
      const code = (await read(question, false)).replaceAll(/\s/g, '')
      if (!/^\d{6}$/.test(code)) throw new UsageError('A one-time code has 6 digits.')
      return code
    },
  }
}
export type Prompt = ReturnType<typeof createPrompt>

export async function confirm(input: Input, talk: Output, question: string): Promise<boolean> {
  if (!input.isTTY) return false
  return /^y(es)?$/i.test((await ask(input, talk, `${question} [y/N]`, false)).trim())
}

export async function readAll(input: Input): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

/**
 * readline keeps the terminal in raw mode and echoes to its output. For a secret that output discards everything, since
 * readline redraws the line with the question.
 */
async function ask(input: Input, talk: Output, question: string, hidden: boolean): Promise<string> {
  if (hidden) talk.write(`${question}: `)
  const output = hidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : talk
  const lines = createInterface({ input, output, terminal: true })
  try {
    const closed = new Promise<never>((_, reject) => lines.once('close', () => reject(new UsageError('Cancelled.'))))
    return await Promise.race([lines.question(`${question}: `), closed])
  } finally {
    lines.close()
    if (hidden) talk.write('\n')
  }
}
