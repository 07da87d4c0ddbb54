import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { examples, limit, reason } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'
import { jsonText, plain } from '../text.ts'

type AdminSession = Output<Contract['listAdminSessions']>['items'][number]
const columns: readonly Column<AdminSession>[] = [
  ['SESSION', (s) => s.session_id],
  ['USER', (s) => s.username],
  ['METHOD', (s) => s.auth_method],
  ['SOURCE', (s) => s.source_ip],
  ['STARTED', (s) => s.started_at],
  ['LAST SEEN', (s) => s.last_seen_at],
  ['CURRENT', (s) => (s.current ? 'yes' : null)],
]

/** Sessions of administrators. Those of devices are under `session`. */
export function addAdminSession(program: Command, cli: Cli): void {
  const auth = program
    .command('auth')
    .description('Manage admin sessions\n\nA step-up confirms your session with a fresh one-time code.')
  examples(
    limit(
      auth
        .command('sessions')
        .description('List active admin sessions\n\nYou see your own sessions. With an API key you see all sessions.'),
    )
      .option('--user <user>', 'only sessions of this user')
      .action(async ({ limit: most, user }: { limit: number; user?: string }) => {
        const client = await cli.client()
        const query = { ...given({ user_id: user }), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listAdminSessions({ query: { ...query, ...page } }))
      }),
    'auth sessions',
    'auth sessions --user anna --json',
  )
  examples(
    reason(
      auth
        .command('end <session...>')
        .description(
          'End admin sessions\n\nTo end sessions of other users, you need the permission credentials:write.',
        ),
    ).action(async (ids: string[], options: { reason?: string }) => {
      const client = await cli.client()
      const body = given({ reason: options.reason })
      for (const session_id of ids) {
        const answer = await client.endAdminSession({ params: { session_id }, body, query: cli.scope })
        cli.say(
          cli.json ? jsonText(answer) : `${plain(answer.session_id)}  ended${answer.changed ? '' : '  (unchanged)'}`,
        )
      }
    }),
    'auth end ses_01jxz3c9dqf7vr2m8k4s6t0b5w --reason "lost laptop"',
    'auth end anna --reason "lost laptop"',
  )
  examples(
    auth
      .command('step-up')
      .description(
        'Confirm your session with a one-time code\n\nSome changes need a fresh code. The code is read from a prompt or stdin.',
      )
      .action(async () => {
        const client = await cli.client()
        const code = await cli.prompt.code('Code from the authenticator app')
        printItem(cli, await client.stepUp({ body: { code } }))
      }),
    'auth step-up',
  )
}
