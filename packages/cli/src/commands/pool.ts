import type { Contract, Output } from '@holdfast/contract'
import { changeGatewayPool } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { choice, examples, integer, limit, sort, sortsOf } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'

type Pool = Output<Contract['getGatewayPool']>
const sorts = sortsOf('name', 'created_at')
const columns: readonly Column<Pool>[] = [
  ['POOL', (p) => p.pool_id],
  ['NAME', (p) => p.name],
  ['REGION', (p) => p.region.code],
  ['PROTOCOL', (p) => p.protocol],
  ['GATEWAYS', (p) => p.gateways],
  ['ENABLED', (p) => p.enabled],
]
type Create = Serving & {
  region: string
  protocol?: Pool['protocol']
  selection?: Pool['selection']
  capacity?: number
}

/** Tunnel settings of a pool's gateways. */
type Serving = {
  nat?: Pool['nat']
  mtu?: number
  dns?: string[]
  failMode?: Pool['fail_mode']
  lifetime?: number
  requiresApproval?: 'on' | 'off'
}

const serving = (command: Command): Command =>
  command
    .addOption(
      choice(
        '--nat <how>',
        'source address in the networks behind the gateway: that of the gateway (masquerade) or of the device (routed)',
        ['masquerade', 'routed'],
      ),
    )
    .option('--mtu <bytes>', 'MTU of the tunnels in bytes', integer(1280, 9000))
    .option('--dns <address...>', 'DNS resolvers for devices whose policy names none')
    .addOption(
      choice('--fail-mode <mode>', 'when a policy expires without renewal: carry nothing (closed) or continue (open)', [
        'closed',
        'open',
      ]),
    )
    .option('--lifetime <seconds>', 'validity of a gateway policy in seconds', integer(120, 86_400))
    .addOption(
      choice('--requires-approval <on|off>', 'whether keys that gateways announce wait for approval', ['on', 'off']),
    )

const servingOf = ({ nat, mtu, dns, failMode, lifetime, requiresApproval }: Serving) =>
  given({
    nat,
    mtu,
    dns,
    fail_mode: failMode,
    lifetime_seconds: lifetime,
    requires_approval: requiresApproval && requiresApproval === 'on',
  })

export function addPool(program: Command, cli: Cli): void {
  const pool = program.command('pool').description('Manage gateway pools')
  sort(
    limit(examples(pool.command('list'), 'pool list', 'pool list --q frank').description('List gateway pools')),
    sorts,
  )
    .option('--q <prefix>', 'only names that begin with this text')
    .action(async ({ limit: most, ...rest }: { limit: number; q?: string; sort?: (typeof sorts)[number] }) => {
      const client = await cli.client()
      const query = { ...given(rest), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listGatewayPools({ query: { ...query, ...page } }))
    })
  examples(
    serving(pool.command('create <name>'))
      .description('Create a gateway pool')
      .requiredOption('--region <code>', 'location of the gateways')
      .addOption(
        choice('--protocol <protocol>', 'tunnel protocol; default: wireguard', ['wireguard', 'ipsec', 'openvpn']),
      )
      .addOption(choice('--selection <how>', 'how a device chooses a gateway', ['latency', 'geo', 'weighted']))
      .option('--capacity <sessions>', 'maximum number of sessions; default: unlimited', integer(1, 10_000_000))
      .action(async (name: string, options: Create) => {
        const { region, protocol, selection, capacity } = options
        const body = {
          name,
          region: { code: region },
          ...given({ protocol, selection, capacity }),
          ...servingOf(options),
        }
        printItem(cli, await (await cli.client()).createGatewayPool({ body, query: cli.scope }))
      }),
    'pool create frankfurt --region eu-central --nat routed --requires-approval on',
  )
  examples(pool.command('show <pool>'), 'pool show frankfurt')
    .description('Show a gateway pool')
    .action(async (pool_id: string) =>
      printItem(cli, await (await cli.client()).getGatewayPool({ params: { pool_id }, query: cli.scope })),
    )
  examples(
    serving(pool.command('update <pool>'))
      .description('Change a gateway pool\n\nOptions that you leave out do not change.')
      .option('--name <name>', 'new name')
      .addOption(choice('--selection <how>', 'how a device chooses a gateway', ['latency', 'geo', 'weighted']))
      .option('--capacity <sessions>', 'maximum number of sessions', integer(1, 10_000_000))
      .option('--no-capacity', 'no limit on the number of sessions')
      .option('--enable', 'let devices use the pool')
      .option('--disable', 'stop devices from using the pool')
      .action((pool_id: string, options: Update) => update(cli, pool_id, options)),
    'pool update frankfurt --capacity 5000',
    'pool update frankfurt --disable',
  )
  examples(
    pool
      .command('delete <pool>')
      .description('Delete a gateway pool\n\nIt must have no gateways, and no policy may name it.')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (pool_id: string, { yes }: { yes?: boolean }) => {
        await cli.sure(yes, `Delete ${pool_id}?`)
        const { changed } = await (await cli.client()).deleteGatewayPool({ params: { pool_id }, query: cli.scope })
        if (cli.json) printItem(cli, { pool_id, changed })
        else cli.say(`${pool_id}  deleted${changed ? '' : '  (unchanged)'}`)
      }),
    'pool delete frankfurt --yes',
  )
}

type Update = Serving & {
  name?: string
  selection?: Pool['selection']
  capacity?: number | false
  enable?: boolean
  disable?: boolean
}

async function update(cli: Cli, pool_id: string, options: Update): Promise<void> {
  const { name, selection, capacity, enable, disable } = options
  if (enable && disable) throw new UsageError('Use either --enable or --disable.')
  const enabled = enable ? true : disable ? false : undefined
  const body = given({
    name,
    selection,
    capacity: capacity === false ? null : capacity,
    enabled,
    ...servingOf(options),
  })
  if (Object.keys(body).length === 0) throw new UsageError('Nothing to change; see: holdfast pool update --help')
  const of = { params: { pool_id }, query: cli.scope }
  printItem(cli, await changeGatewayPool(await cli.client(), of, body))
}
