import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, integer, limit } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'

type Pool = Output<Contract['getGatewayPool']>
const columns: readonly Column<Pool>[] = [
  ['POOL', (p) => p.pool_id],
  ['NAME', (p) => p.name],
  ['REGION', (p) => p.region.code],
  ['PROTOCOL', (p) => p.protocol],
  ['GATEWAYS', (p) => p.gateways],
  ['ENABLED', (p) => p.enabled],
]
type Create = {
  region: string
  protocol?: Pool['protocol']
  selection?: Pool['selection']
  capacity?: number
  cidr?: string[]
}

export function addPool(program: Command, cli: Cli): void {
  const pool = program.command('pool').description('gateway pools')
  limit(examples(pool.command('list'), 'pool list').description('list pools')).action(
    async ({ limit: most }: { limit: number }) => {
      const client = await cli.client()
      await printList(cli, most, columns, (page) => client.listGatewayPools({ query: { ...page, ...cli.scope } }))
    },
  )
  examples(
    pool
      .command('create <name>')
      .description('create a pool')
      .requiredOption('--region <code>', 'where its gateways stand')
      .addOption(choice('--protocol <protocol>', 'wireguard unless said', ['wireguard', 'ipsec', 'openvpn']))
      .addOption(choice('--selection <how>', 'how a device picks a gateway', ['latency', 'geo', 'weighted']))
      .option('--capacity <sessions>', 'unlimited unless said', integer(1, 10_000_000))
      .option('--cidr <network...>', 'addresses for its devices')
      .action(async (name: string, options: Create) => {
        const { region, protocol, selection, capacity, cidr } = options
        const body = {
          name,
          region: { code: region },
          ...given({ protocol, selection, capacity, address_cidrs: cidr }),
        }
        printItem(cli, await (await cli.client()).createGatewayPool({ body, query: cli.scope }))
      }),
    'pool create frankfurt --region eu-central --cidr 100.64.0.0/16',
  )
}
