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
    .addOption(choice('--nat <how>', 'addresses that the networks behind the gateway see', ['masquerade', 'routed']))
    .option('--mtu <bytes>', 'of the tunnels', integer(1280, 9000))
    .option('--dns <address...>', 'resolvers for devices whose policy names none')
    .addOption(choice('--fail-mode <mode>', 'behaviour after a policy expired without renewal', ['closed', 'open']))
    .option('--lifetime <seconds>', 'validity of a gateway policy', integer(120, 86_400))
    .addOption(
      choice('--requires-approval <on|off>', 'whether keys of gateways wait for an administrator', ['on', 'off']),
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
  const pool = program.command('pool').description('gateway pools')
  sort(limit(examples(pool.command('list'), 'pool list', 'pool list --q frank').description('list pools')), sorts)
    .option('--q <prefix>', 'name starts with')
    .action(async ({ limit: most, ...rest }: { limit: number; q?: string; sort?: (typeof sorts)[number] }) => {
      const client = await cli.client()
      const query = { ...given(rest), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listGatewayPools({ query: { ...query, ...page } }))
    })
  examples(
    serving(pool.command('create <name>'))
      .description('create a pool')
      .requiredOption('--region <code>', 'location of its gateways')
      .addOption(choice('--protocol <protocol>', 'default: wireguard', ['wireguard', 'ipsec', 'openvpn']))
      .addOption(choice('--selection <how>', 'how a device picks a gateway', ['latency', 'geo', 'weighted']))
      .option('--capacity <sessions>', 'default: unlimited', integer(1, 10_000_000))
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
    .description('one pool')
    .action(async (pool_id: string) =>
      printItem(cli, await (await cli.client()).getGatewayPool({ params: { pool_id }, query: cli.scope })),
    )
  examples(
    serving(pool.command('update <pool>'))
      .description('change a pool; fields that are not given stay')
      .option('--name <name>')
      .addOption(choice('--selection <how>', 'how a device picks a gateway', ['latency', 'geo', 'weighted']))
      .option('--capacity <sessions>', 'maximum number of sessions', integer(1, 10_000_000))
      .option('--no-capacity', 'unlimited')
      .option('--enable', 'devices may use it')
      .option('--disable', 'no device may use it')
      .action((pool_id: string, options: Update) => update(cli, pool_id, options)),
    'pool update frankfurt --capacity 5000',
    'pool update frankfurt --disable',
  )
  examples(
    pool
      .command('delete <pool>')
      .description('delete a pool that has no gateways and that no policy names')
      .option('--yes', 'do not ask for confirmation')
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
