import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { NotFoundError, UsageError } from '../exit.ts'
import { choice, examples, integer, limit, reason } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'

type Session = Output<Contract['listSessions']>['items'][number]
const columns: readonly Column<Session>[] = [
  ['SESSION', (s) => s.session_id],
  ['DEVICE', (s) => s.device_name ?? s.device_id],
  ['USER', (s) => s.user_name],
  ['GATEWAY', (s) => s.gateway_name ?? s.gateway_id],
  ['STATE', (s) => s.state],
  ['STARTED', (s) => s.started_at],
  ['RX BYTES', (s) => s.rx_bytes],
  ['TX BYTES', (s) => s.tx_bytes],
]
type Filter = { device?: string; user?: string; gateway?: string; pool?: string }

const filterOf = ({ device, user, gateway, pool }: Filter) =>
  given({ device_id: device, user_id: user, gateway_id: gateway, pool_id: pool })

const filtered = (command: Command): Command =>
  command
    .option('--device <device>', 'only sessions of this device')
    .option('--user <user>', 'only sessions of this user')
    .option('--gateway <gateway>', 'only sessions at this gateway')
    .option('--pool <pool>', 'only sessions in this pool')

export function addSession(program: Command, cli: Cli): void {
  const session = program.command('session').description('Manage VPN sessions')
  examples(
    filtered(limit(session.command('list').description('List VPN sessions')))
      .addOption(choice('--state <state>', 'only sessions in this state; default: active', ['active', 'ended', 'all']))
      .action(async (options: Filter & { limit: number; state?: 'active' | 'ended' | 'all' }) => {
        const client = await cli.client()
        const query = { ...filterOf(options), ...given({ state: options.state }), ...cli.scope }
        await printList(cli, options.limit, columns, (page) => client.listSessions({ query: { ...query, ...page } }))
      }),
    'session list --user anna',
  )
  examples(session.command('show <session>'), 'session show vse_01jxz3c9dqf7vr2m8k4s6t0b5w', 'session show anna-laptop')
    .description('Show a VPN session\n\nName it by its id, or by the name of its device.')
    .action(async (session_id: string) => {
      const found = await (await cli.client()).getSession({ params: { session_id }, query: cli.scope })
      const resources = Object.fromEntries(found.resources.map(({ resource, ...bytes }) => [resource, bytes]))
      printItem(cli, cli.json ? found : { ...found, resources })
    })
  examples(
    reason(
      filtered(
        session
          .command('terminate [session...]')
          .description(
            'End VPN sessions\n\nName them by id or by the name of their device, or select them with the filter options.',
          ),
      ),
    )
      .option(
        '--block <seconds>',
        'time for which the pool refuses the devices, in seconds; default: 300',
        integer(0, 3600),
      )
      .option('--yes', 'skip the confirmation prompt')
      .action((ids: string[], options: Terminate) => terminate(cli, ids, options)),
    'session terminate anna-laptop --reason maintenance',
    'session terminate --gateway gw1 --yes',
  )
}

type Terminate = Filter & { reason?: string; block?: number; yes?: boolean }

async function terminate(cli: Cli, ids: string[], options: Terminate): Promise<void> {
  const filter = filterOf(options)
  const isFiltered = Object.keys(filter).length > 0
  if (ids.length > 0 === isFiltered)
    throw new UsageError('Name sessions, or filter them by --device, --user, --gateway or --pool.')
  if (isFiltered) await cli.sure(options.yes, 'Terminate every session that matches the filter?')
  const chosen = isFiltered ? { filter } : { session_ids: ids }
  const body = {
    operation: 'terminate',
    ...chosen,
    ...given({ reason: options.reason, block_seconds: options.block }),
  } as const
  const answer = await (await cli.client()).terminateSessions({ body, query: cli.scope })
  printItem(cli, answer)
  if (!isFiltered && answer.matched < new Set(ids).size)
    throw new NotFoundError(`Of ${ids.length} sessions named, ${answer.matched} exist.`)
}
