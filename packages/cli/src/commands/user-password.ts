import type { Command } from 'commander'
import { noteOwed } from '../advice.ts'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { examples } from '../options.ts'
import { noteWarnings, printItem, printSecret } from '../output.ts'
import { countText, plain } from '../text.ts'

export function addUserPassword(user: Command, cli: Cli): void {
  examples(
    user
      .command('password [user]')
      .description(
        'Set the password of a user\n\nThe password is read from a prompt or stdin. Without a name, it sets your own: first enter the current password, then the new one.',
      )
      .option('--generate', 'generate a temporary password, printed once; the user must change it after the sign-in')
      .option('--revoke-api-keys', 'also revoke the API keys that the user owns or created; default: they stay valid')
      .action((user_id: string | undefined, options: Options) =>
        user_id === undefined ? changeOwn(cli, options) : setFor(cli, user_id, options),
      ),
    'user password',
    'user password anna --generate --revoke-api-keys',
    'user password anna --generate',
    'user password anna < password.txt',
  )
}

type Options = { generate?: boolean; revokeApiKeys?: boolean }

async function changeOwn(cli: Cli, { generate, revokeApiKeys: revoke_api_keys }: Options): Promise<void> {
  if (generate) throw new UsageError('--generate is only for the password of another user: name the user.')
  if ('apiKey' in (await cli.connection())) throw new UsageError('An API key has no password: name a user.')
  const client = await cli.client()
  const current_password = await cli.prompt.secret('Current password')
  const new_password = await cli.prompt.newSecret('New password')
  const answer = await client.changePassword({
    body: { current_password, new_password, ...given({ revoke_api_keys }) },
  })
  if (cli.json) printItem(cli, answer)
  else cli.note(`Your password was changed. ${countText(answer.sessions_terminated, 'other session', 'ended')}.`)
  await noteOwed(cli, client)
}

async function setFor(cli: Cli, user_id: string, options: Options): Promise<void> {
  const { generate, revokeApiKeys: revoke_api_keys } = options
  const client = await cli.client()
  const wanted = generate ? { generate } : { new_password: await cli.prompt.newSecret('New password') }
  const answer = await client.changePassword({
    body: { user_id, ...given({ ...wanted, revoke_api_keys }) },
    query: cli.scope,
  })
  const { user, secret, expires_at, sessions_terminated, api_keys_revoked } = answer
  const whose = `The password of ${plain(user.username)}`
  const keys = api_keys_revoked > 0 ? ` ${countText(api_keys_revoked, 'API key', 'revoked')}.` : ''
  const ended = `${countText(sessions_terminated, 'session', 'ended')}.${keys}`
  noteWarnings(cli, answer)
  if (secret !== undefined) {
    printSecret(cli, secret, answer, `${whose} for one sign-in by ${expires_at}. ${ended}`)
  } else if (cli.json) printItem(cli, answer)
  else cli.note(`${whose} was changed. ${ended}`)
}
