import { styleText } from 'node:util'
import { type Client, createClient } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Connection, chooseConnection, type Environment, readConfig } from './config-file.ts'
import { UsageError } from './exit.ts'
import { confirm, type Input, type Output } from './prompt.ts'

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
  /** Asks on a terminal; elsewhere --yes must have been given. */
  sure: (yes: boolean | undefined, question: string) => Promise<void>
}

export function createCli(program: Command, streams: Streams): Cli {
  const { input, output, errors, env } = streams
  const options = () => program.opts<{ json?: boolean; url?: string; tenant?: string }>()
  const colours = output.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  let spoke = false
  const connection = async () => chooseConnection(options().url, env, await readConfig(env))
  return {
    ...streams,
    get json() {
      return options().json === true
    },
    get scope() {
      const { tenant } = options()
      return tenant === undefined ? {} : { tenant_id: tenant }
    },
    get spoke() {
      return spoke
    },
    get url() {
      return options().url
    },
    say: (line) => void output.write(`${line}\n`),
    note: (line) => void errors.write(`${line}\n`),
    strong: (text) => (colours ? styleText('bold', text, { validateStream: false }) : text),
    connection,
    client: async () => {
      const chosen = await connection()
      spoke = true
      if ('apiKey' in chosen) return createClient({ baseUrl: chosen.baseUrl, credential: chosen.apiKey })
      return createClient(chosen)
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
