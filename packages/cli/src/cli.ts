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

/** What a command works with. Data goes to stdout by `say`, talk to stderr by `note`. */
export type Cli = Streams & {
  readonly json: boolean
  readonly scope: { tenant_id?: string }
  /** From --url; undefined when not given. */
  readonly url: string | undefined
  say: (line: string) => void
  note: (line: string) => void
  strong: (text: string) => string
  connection: () => Promise<Connection>
  client: () => Promise<Client>
  /** Whether the command spoke as an administrator, so that signing in may help it. */
  readonly spoke: boolean
  readonly prompt: Prompt
  /** What may help, said after the error if the command fails. */
  hint: (line: string) => void
  readonly hints: readonly string[]
  /** Asks on a terminal; elsewhere --yes must have been given. */
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
      // The answer that came along may hold what is shown only once, so it is not given up for this.
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
      if (!input.isTTY) throw new UsageError(`${question} Add --yes to go ahead without being asked.`)
      if (!(await confirm(input, errors, question))) throw new UsageError('Cancelled.')
    },
  }
}

/** The values that were given, without the absent ones. */
export function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

/** Said where a secret is about to travel. */
export function warnOfPlainHttp(cli: Cli, url: string): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' }
  const isLocal = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol === 'http:' && !isLocal) cli.note(`Warning: the connection to ${hostname} is not encrypted.`)
}
