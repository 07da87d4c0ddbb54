import { createAdmin, signIn } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, warnOfPlainHttp } from '../cli.ts'
import { configPath, readConfig, writeConfig } from '../config-file.ts'
import { UsageError } from '../exit.ts'
import { examples } from '../options.ts'
import { printItem } from '../output.ts'
import { readSecret } from '../prompt.ts'
import { plain } from '../text.ts'

export function addAuth(program: Command, cli: Cli): void {
  examples(
    program
      .command('login')
      .description('sign in, and save the credential for later commands (file mode 0600)')
      .option('--username <name>', 'sign in with a password, asked for or read from stdin')
      .option('--api-key', 'save an API key instead, asked for or read from stdin')
      .action((options: { username?: string; apiKey?: boolean }) => login(cli, options)),
    'login --url https://control.example --username admin',
    'login --url https://control.example --api-key < key.txt',
  )
  program
    .command('logout')
    .description('end the session and forget the saved credential')
    .action(() => logout(cli))
  program
    .command('whoami')
    .description('who is calling, and what they may do')
    .action(async () => printItem(cli, await (await cli.client()).me({ query: cli.scope })))
}

async function login(cli: Cli, { username, apiKey }: { username?: string; apiKey?: boolean }): Promise<void> {
  const url = cli.url ?? (cli.env.HOLDFAST_URL || (await readConfig(cli.env)).url)
  if (url === undefined) throw new UsageError('Which server? Add --url.')
  if ((username === undefined) === (apiKey !== true)) throw new UsageError('Add either --username or --api-key.')
  warnOfPlainHttp(cli, url)
  if (username === undefined) {
    const key = await readSecret(cli.input, cli.errors, 'API key')
    const { tenant_name } = await createAdmin({ baseUrl: url, apiKey: key }).me()
    await writeConfig(cli.env, { url, api_key: key })
    cli.note(`The API key works in tenant ${plain(tenant_name)}; it is saved in ${configPath(cli.env)}.`)
    return
  }
  const password = await readSecret(cli.input, cli.errors, 'Password')
  const { cookie, user, expiresAt } = await signIn({ baseUrl: url, username, password })
  await writeConfig(cli.env, { url, session: { cookie, username: user.username, expires_at: expiresAt } })
  cli.note(`Signed in as ${plain(user.username)} until ${expiresAt}.`)
}

/** The saved credential goes first: it is forgotten even when the server can't be told. */
async function logout(cli: Cli): Promise<void> {
  const { url, session, api_key } = await readConfig(cli.env)
  if (url === undefined || (!session && api_key === undefined)) return cli.note('Not signed in.')
  await writeConfig(cli.env, { url })
  if (session) await createAdmin({ baseUrl: url, cookie: session.cookie }).logout()
  cli.note('Signed out.')
}
