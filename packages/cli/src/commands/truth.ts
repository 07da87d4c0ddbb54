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
  ['HERE', (c) => c.control_plane.session_state],
  ['GATEWAY SAYS', (c) => c.gateway?.state ?? null],
  ['DEVICE SAYS', (c) => c.device?.state ?? null],
  ['POLICY', (c) => c.policy.reason],
  ['DIFFER IN', (c) => c.disagreements.map((d) => d.field).join(' ')],
]
type Options = { limit: number; device?: string; user?: string; gateway?: string; verdict?: Connection['verdict'] }

export function addTruth(program: Command, cli: Cli): void {
  const truth = program.command('truth').description('reports of gateway, device and server on each connection')
  examples(
    limit(truth.command('list').description('list connections, with the verdict of the comparison of their reports'))
      .option('--device <device>', 'of this device')
      .option('--user <user>', 'of this user')
      .option('--gateway <gateway>', 'to this gateway')
      .addOption(choice('--verdict <verdict>', 'with this value', connectionVerdicts))
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
