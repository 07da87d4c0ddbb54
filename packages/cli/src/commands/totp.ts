import type { Command } from 'commander'
import { noteOwed } from '../advice.ts'
import { type Cli, given } from '../cli.ts'
import { examples, reason } from '../options.ts'
import { printItem, printSecret } from '../output.ts'
import { countText } from '../text.ts'

export function addTotp(program: Command, cli: Cli): void {
  const totp = program
    .command('totp')
    .description('Manage second factors (TOTP)\n\nA second factor is an authenticator app on a phone.')
  examples(
    totp
      .command('enroll [user]')
      .description('Begin the setup of an authenticator app\n\nWithout a name, it is for yourself.')
      .action((user_id?: string) => enroll(cli, user_id)),
    'totp enroll',
    'totp enroll --json | jq -r .provisioning_uri | qrencode -t ansiutf8',
  )
  examples(
    totp
      .command('verify [user]')
      .description(
        'Complete the setup of an authenticator app\n\nThe code from the app is read from a prompt or stdin. Recovery codes are printed once.',
      )
      .action((user_id?: string) => verify(cli, user_id)),
    'totp verify > recovery-codes.txt',
  )
  examples(
    reason(
      totp.command('disable <user>').description('Remove the second factor of a user\n\nThe sessions of the user end.'),
    )
      .option('--yes', 'skip the confirmation prompt')
      .action(async (user_id: string, { yes, reason: why }: { yes?: boolean; reason?: string }) => {
        await cli.sure(yes, `Remove the second factor of ${user_id}?`)
        const body = { user_id, ...given({ reason: why }) }
        const answer = await (await cli.client()).disableTotp({ body, query: cli.scope })
        if (cli.json) return printItem(cli, answer)
        const ended = countText(answer.sessions_terminated, 'session', 'ended')
        cli.say(`${answer.user.user_id}  no second factor${answer.changed ? `, ${ended}` : '  (unchanged)'}`)
      }),
    'totp disable anna --reason "lost phone"',
  )
}

async function enroll(cli: Cli, user_id: string | undefined): Promise<void> {
  const client = await cli.client()
  const current_password = user_id === undefined ? await cli.prompt.secret('Current password') : undefined
  const answer = await client.enrollTotp({ body: given({ user_id, current_password }), query: cli.scope })
  printItem(cli, answer)
  cli.note(`
Add it to an authenticator app, in one of these ways:
  - open the URI on the phone,
  - show the URI as a QR code and scan it, e.g. with: qrencode -t ansiutf8
  - type the secret, as a time-based key: ${answer.secret.replaceAll(/.{4}(?=.)/g, '$& ')}
Then confirm it by ${answer.expires_at} with: holdfast totp verify${user_id === undefined ? '' : ` ${user_id}`}
The secret is shown only this once.`)
}

async function verify(cli: Cli, user_id: string | undefined): Promise<void> {
  const client = await cli.client()
  const code = await cli.prompt.code('Code from the authenticator app')
  const answer = await client.verifyTotp({ body: { code, ...given({ user_id }) }, query: cli.scope })
  const word = 'The second factor is active. These are recovery codes. Each of them replaces the app for one sign-in.'
  printSecret(cli, answer.recovery_codes.join('\n'), answer, `${word} Keep the list somewhere safe.`)
  if (user_id === undefined) await noteOwed(cli, client)
}
