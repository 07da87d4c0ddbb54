import type { Contract, Output } from '@holdfast/contract'
import { historyRanges } from '@holdfast/contract/gateway-history'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, printAll, printItem, printList } from '../output.ts'

type History = Output<Contract['getGatewayHistory']>
type Row = Output<Contract['listGatewayHistory']>['items'][number]
type Range = (typeof historyRanges)[number]
type State = NonNullable<Row['states'][number]>

/** One character per step. */
const letters: Record<State, string> = {
  healthy: '.',
  degraded: 'd',
  draining: 'r',
  down: 'X',
  never_seen: 'n',
  pending: 'p',
}
const legend = '. healthy, d degraded, r draining, X down, n never seen, p pending, space unknown; the oldest first'

const stepColumns: readonly Column<History['steps'][number]>[] = [
  ['AT', (s) => s.at],
  ['WORST STATE', (s) => s.worst],
  ['HEALTHY (S)', (s) => s.seconds.healthy],
  ['DEGRADED (S)', (s) => s.seconds.degraded],
  ['DOWN (S)', (s) => s.seconds.down],
  ['DRAINING (S)', (s) => s.seconds.draining],
  ['PEAK SESSIONS', (s) => s.sessions_most],
]
const rowColumns: readonly Column<Row>[] = [
  ['GATEWAY', (g) => g.gateway_name],
  ['POOL', (g) => g.pool_name],
  ['STATUS', (g) => g.status],
  ['STATES', (g) => `[${g.states.map((state) => (state === null ? ' ' : letters[state])).join('')}]`],
]

export function addGatewayHistory(gateway: Command, cli: Cli): void {
  examples(
    limit(
      gateway
        .command('history [gateway]')
        .description(
          'Show states and sessions of a gateway over time\n\nWithout a name, it shows the states of all gateways.',
        ),
    )
      .option('--pool <pool>', 'only gateways of this pool')
      .addOption(choice('--range <range>', 'time range; default: 24h', historyRanges))
      .action(async (gateway_id: string | undefined, options: { limit: number; pool?: string; range?: Range }) => {
        const client = await cli.client()
        const asked = { ...given({ range: options.range }), ...cli.scope }
        if (gateway_id === undefined) {
          const query = { ...asked, ...given({ pool_id: options.pool }) }
          await printList(cli, options.limit, rowColumns, (page) =>
            client.listGatewayHistory({ query: { ...query, ...page } }),
          )
          cli.note(legend)
          return
        }
        if (options.pool !== undefined) throw new UsageError('Name a gateway or use --pool, not both.')
        const found = await client.getGatewayHistory({ params: { gateway_id }, query: asked })
        if (cli.json) return printItem(cli, found)
        await printAll(cli, stepColumns, found.steps)
        cli.note(`${found.changes} changes of state since ${found.from}.`)
      }),
    'gateway history gw1 --range 30d',
    'gateway history --pool frankfurt',
  )
}
