import { styleText } from 'node:util'
import { type Client, createAdmin, createClient } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Connection, chooseConnection, type Environment, readConfig, renewSession } from './config-file.ts'
import { UsageError } from './exit.ts'
import { withNames } from './names.ts'
import { confirm, createPrompt, type Input, type Output, type Prompt } from './prompt.ts'
import { plain } from './text.ts'
import { version } from './version.ts'

export type Streams = { input: Input; output: Output; errors: Output; env: Environment }

/** Context of a command. `say` prints data to stdout, `note` prints messages to stderr. */
export type Cli = Streams & {
  readonly json: boolean
  readonly scope: { tenant_id?: string }
  /** From --url; undefined if not given. */
  readonly url: string | undefined
  say: (line: string) => void
  note: (line: string) => void
  strong: (text: string) => string
  connection: () => Promise<Connection>
  client: () => Promise<Client>
  /** True if the command used an administrator's credential, so that a new sign-in may help. */
  readonly spoke: boolean
  readonly prompt: Prompt
  /** Adds advice that is printed after the error if the command fails. */
  hint: (line: string) => void
  readonly hints: readonly string[]
  /** Asks for confirmation on a terminal. Elsewhere --yes is required. */
  sure: (yes: boolean | undefined, question: string) => Promise<void>
}

export function createCli(program: Command, streams: Streams): Cli {
  const { input, output, errors, env } = streams
  const options = () => program.opts<{ json?: boolean; url?: string; tenant?: string }>()
  const colours = output.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  const hints: string[] = []
  let spoke = false
  const note = (line: string) => void errors.write(`${line}\n`)
  const scope = () => {
    const { tenant } = options()
    return tenant === undefined ? {} : { tenant_id: tenant }
  }
  const headers = { 'user-agent': `holdfast-cli/${version}` }
  const clientOf = (chosen: Connection): Client => {
    if ('apiKey' in chosen) return createClient({ baseUrl: chosen.baseUrl, credential: chosen.apiKey, headers })
    if (!('cookie' in chosen)) return createClient({ ...chosen, headers })
    let held = chosen.cookie
    const onCookie = async (cookie: string) => {
      // The response may contain a secret that is shown only once, so a failure here must not discard it.
      await renewSession(env, held, cookie).catch((e) =>
        note(`The session could not be saved, so sign in again: ${plain(String(e))}`),
      )
      held = cookie
    }
    return createAdmin({ ...chosen, headers, onCookie })
  }
  const connection = async () => chooseConnection(options().url, env, await readConfig(env))
  return {
    ...streams,
    get json() {
      return options().json === true
    },
    get scope() {
      return scope()
    },
    hints,
    hint: (line) => void hints.push(line),
    prompt: createPrompt(input, errors),
    get spoke() {
      return spoke
    },
    get url() {
      return options().url
    },
    say: (line) => void output.write(`${line}\n`),
    note,
    strong: (text) => (colours ? styleText('bold', text, { validateStream: false }) : text),
    connection,
    client: async () => {
      const chosen = await connection()
      spoke = true
      return withNames(clientOf(chosen), scope)
    },
    sure: async (yes, question) => {
      if (yes === true) return
      if (!input.isTTY) throw new UsageError(`${question} Add --yes to confirm.`)
      if (!(await confirm(input, errors, question))) throw new UsageError('Cancelled.')
    },
  }
}

/** Returns the values without undefined ones. */
export function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

/** Warns before a secret is sent over plain HTTP. */
export function warnOfPlainHttp(cli: Cli, url: string): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' }
  const isLocal = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol === 'http:' && !isLocal) cli.note(`Warning: the connection to ${hostname} is not encrypted.`)
}
