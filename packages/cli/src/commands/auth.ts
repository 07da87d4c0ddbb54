import { ApiError, createAdmin, signIn } from '@holdfast/sdk'
import type { Command } from 'commander'
import { owedText } from '../advice.ts'
import { type Cli, warnOfPlainHttp } from '../cli.ts'
import { configPath, readConfig, writeConfig } from '../config-file.ts'
import { UsageError } from '../exit.ts'
import { examples } from '../options.ts'
import { printItem } from '../output.ts'
import { plain } from '../text.ts'

type Login = { username?: string; apiKey?: boolean; totp?: boolean; recoveryCode?: boolean }

export function addAuth(program: Command, cli: Cli): void {
  examples(
    program
      .command('login')
      .description(
        'Sign in and save the credential\n\nLater commands use the saved credential. Its file has mode 0600.',
      )
      .option('--username <name>', 'username; the password is read from a prompt or stdin')
      .option('--totp', 'also use a code from the authenticator app (prompt, or second line of stdin)')
      .option('--recovery-code', 'use a recovery code instead of an app code; each code works once')
      .option('--api-key', 'use an API key instead of a username and password (prompt or stdin)')
      .action((options: Login) => login(cli, options)),
    'login --url https://vpn.example.com --username admin',
    'login --username admin --totp',
    'login --url https://vpn.example.com --api-key < key.txt',
  )
  examples(
    program
      .command('logout')
      .description('Sign out and delete the saved credential')
      .action(() => logout(cli)),
    'logout',
  )
  examples(
    program
      .command('whoami')
      .description('Show the signed-in user or API key, and its permissions')
      .action(async () => printItem(cli, await (await cli.client()).me({ query: cli.scope }))),
    'whoami',
    'whoami --json | jq .session',
  )
}

async function login(cli: Cli, { username, apiKey, totp, recoveryCode }: Login): Promise<void> {
  const url = cli.url ?? (cli.env.HOLDFAST_URL || (await readConfig(cli.env)).url)
  const isClear = (username === undefined) !== (apiKey !== true)
  if (url === undefined)
    throw new UsageError(`Which server? Add --url${isClear ? '' : ', and either --username or --api-key'}.`)
  if (!isClear) throw new UsageError('Add either --username or --api-key.')
  if (totp && recoveryCode) throw new UsageError('Add either --totp or --recovery-code.')
  if (apiKey && (totp || recoveryCode)) throw new UsageError('An API key has no second factor.')
  warnOfPlainHttp(cli, url)
  if (username === undefined) {
    const key = await cli.prompt.secret('API key')
    const { tenant_name } = await createAdmin({ baseUrl: url, apiKey: key }).me()
    await writeConfig(cli.env, { url, api_key: key })
    cli.note(`The API key works in tenant ${plain(tenant_name)}; it is saved in ${configPath(cli.env)}.`)
    return
  }
  const given = {
    password: await cli.prompt.secret('Password'),
    totp: totp ? await cli.prompt.code('Code from the authenticator app') : undefined,
    recovery_code: recoveryCode ? await cli.prompt.secret('Recovery code') : undefined,
  }
  const signedIn = await signIn({ baseUrl: url, username, ...given }).catch((error: unknown) => {
    // The server's answer is the same for every fault, so this may or may not be the cause.
    if (error instanceof ApiError && error.status === 401 && !totp && !recoveryCode)
      cli.hint('If the account has an authenticator app, add --totp.')
    throw error
  })
  const { cookie, user, expiresAt, requiredAction } = signedIn
  await writeConfig(cli.env, { url, session: { cookie, username: user.username, expires_at: expiresAt } })
  cli.note(`Signed in as ${plain(user.username)} until ${expiresAt}.`)
  if (requiredAction) cli.note(owedText[requiredAction])
}

/** Deletes the saved credential first, so that it is gone even if the server can't be reached. */
async function logout(cli: Cli): Promise<void> {
  const { url, session, api_key } = await readConfig(cli.env)
  if (url === undefined || (!session && api_key === undefined)) return cli.note('Not signed in.')
  await writeConfig(cli.env, { url })
  if (session) await createAdmin({ baseUrl: url, cookie: session.cookie }).logout()
  cli.note('Signed out.')
}
