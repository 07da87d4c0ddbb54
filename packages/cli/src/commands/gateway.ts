import type { Contract, Output } from '@holdfast/contract'
import { changeGateway } from '@holdfast/sdk'
import { type Command, InvalidArgumentError } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { choice, examples, integer, limit, reason, sort, sortsOf } from '../options.ts'
import { type Column, printItem, printList, printSecret } from '../output.ts'
import { addGatewayHealth, gatewayStatuses } from './gateway-health.ts'
import { addGatewayHistory } from './gateway-history.ts'

type Gateway = Output<Contract['getGateway']>
type Endpoint = Gateway['endpoints'][number]
type Listed = Output<Contract['listAllGateways']>['items'][number]
const sorts = sortsOf('name', 'created_at')
const columns: readonly Column<Listed>[] = [
  ['GATEWAY', (g) => g.gateway_id],
  ['NAME', (g) => g.name],
  ['POOL', (g) => g.pool_name],
  ['STATUS', (g) => g.status],
  ['VERSION', (g) => g.version],
  ['SESSIONS', (g) => g.active_sessions],
  ['LAST SEEN', (g) => g.last_seen_at],
]

/** Parses `host:port/udp`, with an IPv6 address in brackets. */
export function parseEndpoint(text: string, before: Endpoint[] = []): Endpoint[] {
  const [, v6, name, port, proto] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/[\]]+)):(\d{1,5})\/(udp|tcp)$/.exec(text) ?? []
  const host = v6 ?? name
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new InvalidArgumentError('It must look like gw1.example:51820/udp or [fd00::1]:51820/udp.')
  return [...before, { host, port: Number(port), proto: proto as Endpoint['proto'] }]
}

export function addGateway(program: Command, cli: Cli): void {
  const gateway = program.command('gateway').description('Manage gateways')
  examples(
    sort(limit(gateway.command('list').description('List the gateways of all pools')), sorts)
      .option('--pool <pool>', 'only gateways of this pool')
      .addOption(choice('--status <status>', 'only gateways with this status', gatewayStatuses))
      .option('--installed <version>', 'only gateways that report exactly this version')
      .option('--q <prefix>', 'only names that begin with this text')
      .action(async ({ limit: most, pool: pool_id, status, installed: version, q, sort: by }: ListOptions) => {
        const client = await cli.client()
        const query = { ...given({ pool_id, status, version, q, sort: by }), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listAllGateways({ query: { ...query, ...page } }))
      }),
    'gateway list --pool frankfurt',
    'gateway list --status healthy --installed 1.4.0',
  )
  addGatewayHealth(gateway, cli)
  addGatewayHistory(gateway, cli)
  examples(
    gateway
      .command('create <name>')
      .description('Register a gateway\n\nIts service secret is printed once.')
      .requiredOption('--pool <pool>', 'pool of the gateway')
      .option('--endpoint <host:port/proto...>', 'addresses where devices reach the gateway', parseEndpoint)
      .option('--public-key <key>', 'WireGuard public key of the gateway')
      .option('--weight <n>', 'share of the sessions in a weighted pool', integer(0, 1000))
      .action((name: string, options: Create) => create(cli, name, options)),
    'gateway create gw1 --pool frankfurt --endpoint gw1.example:51820/udp',
  )
  examples(
    gateway
      .command('show <gateway>')
      .description('Show a gateway')
      .action(async (gateway_id: string) =>
        printItem(cli, await (await cli.client()).getGateway({ params: { gateway_id }, query: cli.scope })),
      ),
    'gateway show gw1',
  )
  examples(
    gateway
      .command('update <gateway>')
      .description('Change a gateway\n\nOptions that you leave out do not change.')
      .option('--name <name>', 'new name')
      .option('--endpoint <host:port/proto...>', 'addresses where devices reach the gateway', parseEndpoint)
      .option('--public-key <key>', 'WireGuard public key of the gateway')
      .option('--weight <n>', 'share of the sessions in a weighted pool', integer(0, 1000))
      .action(
        async (gateway_id: string, { name, endpoint, publicKey, weight }: Partial<Create> & { name?: string }) => {
          const body = given({ name, endpoints: endpoint, public_key: publicKey, weight })
          if (Object.keys(body).length === 0)
            throw new UsageError('Nothing to change; see: holdfast gateway update --help')
          const of = { params: { gateway_id }, query: cli.scope }
          printItem(cli, await changeGateway(await cli.client(), of, body))
        },
      ),
    'gateway update gw1 --endpoint gw1.example:51820/udp --weight 50',
  )
  examples(
    gateway
      .command('delete <gateway>')
      .description('Delete a gateway\n\nIts secret stops working, and its sessions end.')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (gateway_id: string, { yes }: { yes?: boolean }) => {
        await cli.sure(yes, `Delete ${gateway_id}?`)
        const { changed } = await (await cli.client()).deleteGateway({ params: { gateway_id }, query: cli.scope })
        if (cli.json) printItem(cli, { gateway_id, changed })
        else cli.say(`${gateway_id}  deleted${changed ? '' : '  (unchanged)'}`)
      }),
    'gateway delete gw1 --yes',
  )
  reason(
    examples(
      gateway.command('drain <gateway>'),
      'gateway drain gw1 --reason "kernel update"',
      'gateway drain gw1 --undo',
    ).description('Drain a gateway\n\nA draining gateway gets no new sessions.'),
  )
    .option('--undo', 'offer the gateway to devices again')
    .action(async (gateway_id: string, options: { undo?: boolean; reason?: string }) => {
      const body = { draining: options.undo !== true, ...given({ reason: options.reason }) }
      const client = await cli.client()
      const answer = await client.drainGateway({ params: { gateway_id }, body, query: cli.scope })
      if (!answer.changed) cli.note('No change.')
      printItem(cli, answer.gateway)
    })
  examples(
    gateway.command('approve <gateway>'),
    'gateway approve gw1 --public-key HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=',
  )
    .description('Approve the new public key that a gateway announced')
    .requiredOption('--public-key <key>', 'public key that you have checked on the gateway')
    .action(async (gateway_id: string, { publicKey }: { publicKey: string }) => {
      const client = await cli.client()
      const asked = { params: { gateway_id }, body: { public_key: publicKey }, query: cli.scope }
      const answer = await client.approveGateway(asked)
      if (!answer.changed) cli.note('No change.')
      printItem(cli, answer.gateway)
    })
  examples(gateway.command('rotate-secret <gateway>'), 'gateway rotate-secret gw1 > secret.txt')
    .description(
      'Give a gateway a new service secret\n\nThe new secret is printed once. The old secret works until the first use of the new one.',
    )
    .action(async (gateway_id: string) => {
      const answer = await (await cli.client()).rotateGatewaySecret({ params: { gateway_id }, query: cli.scope })
      const until = answer.old_secret_valid_until
      printSecret(cli, answer.secret, answer, `New secret of ${gateway_id}. The old one stops working by ${until}.`)
    })
}

type ListOptions = {
  limit: number
  pool?: string
  status?: Gateway['status']
  installed?: string
  q?: string
  sort?: (typeof sorts)[number]
}
type Create = { pool: string; endpoint?: Endpoint[]; publicKey?: string; weight?: number }

async function create(cli: Cli, name: string, { pool, endpoint, publicKey, weight }: Create): Promise<void> {
  const body = { name, ...given({ endpoints: endpoint, public_key: publicKey, weight }) }
  const answer = await (await cli.client()).createGateway({ params: { pool_id: pool }, body, query: cli.scope })
  printSecret(cli, answer.secret, answer, `Service secret of gateway ${answer.gateway.gateway_id}.`)
}
