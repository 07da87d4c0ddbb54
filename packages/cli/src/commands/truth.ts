import type { Contract, Output } from '@holdfast/contract'
import { connectionVerdicts } from '@holdfast/contract/connection-truth'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, printList } from '../output.ts'

type Connection = Output<Contract['connectionTruth']>['items'][number]
const columns: readonly Column<Connection>[] = [
  ['DEVICE', (c) => c.device_name ?? c.device_id],
  ['GATEWAY', (c) => c.gateway_name ?? c.gateway_id],
  ['VERDICT', (c) => c.verdict],
  ['CONTROL PLANE', (c) => c.control_plane.session_state],
  ['GATEWAY SAYS', (c) => c.gateway?.state ?? null],
  ['DEVICE SAYS', (c) => c.device?.state ?? null],
  ['POLICY', (c) => c.policy.reason],
  ['DIFFERENCES', (c) => c.disagreements.map((d) => d.field).join(' ')],
]
type Options = { limit: number; device?: string; user?: string; gateway?: string; verdict?: Connection['verdict'] }

export function addTruth(program: Command, cli: Cli): void {
  const truth = program
    .command('truth')
    .description('Compare reports about connections\n\nThe reports come from the gateway, the device and the server.')
  examples(
    limit(
      truth
        .command('list')
        .description('List connections and compare their reports\n\nThe verdict is the result of the comparison.'),
    )
      .option('--device <device>', 'only connections of this device')
      .option('--user <user>', 'only connections of this user')
      .option('--gateway <gateway>', 'only connections to this gateway')
      .addOption(choice('--verdict <verdict>', 'only connections with this verdict', connectionVerdicts))
      .action(async ({ limit: most, device, user, gateway, verdict }: Options) => {
        const client = await cli.client()
        const filter = given({ device_id: device, user_id: user, gateway_id: gateway, verdict })
        const query = { ...filter, ...cli.scope }
        await printList(cli, most, columns, async (page) => {
          const found = await client.connectionTruth({ query: { ...query, ...page } })
          const n = found.in_question
          // Connections whose session is missing or not allowed appear only in the lists by verdict.
          if (n && verdict === undefined && n.unauthorized + n.conflict + n.stale > 0)
            cli.note(
              `In question: ${n.unauthorized} unauthorized, ${n.conflict} in conflict, ${n.stale} stale (--verdict).`,
            )
          return found
        })
      }),
    'truth list --verdict unauthorized',
  )
}
