import type { Contract, Input } from '@holdfast/contract'
import { pageItems } from '@holdfast/contract/limits'
import { exportKinds } from '@holdfast/contract/ops-export'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { choice, examples } from '../options.ts'
import { patient } from '../patient.ts'
import { jsonText } from '../text.ts'

type Kind = Input<Contract['exportOperations']>['query']['kind']
const kinds = Object.keys(exportKinds) as Kind[]

export function addOps(program: Command, cli: Cli): void {
  const ops = program.command('ops').description('Export data for support and inventories')
  examples(
    ops
      .command('export')
      .description('Print inventory or configuration without secrets\n\nThe output is one JSON object per line.')
      .addOption(choice('--kind <kind>', 'data to export', kinds).makeOptionMandatory())
      .action(async ({ kind }: { kind: Kind }) => {
        const client = patient(await cli.client())
        let cursor: string | null = null
        do {
          const query = { kind, limit: pageItems.most, ...(cursor !== null && { cursor }), ...cli.scope }
          const page = await client.exportOperations({ query })
          for (const item of page.items) cli.say(jsonText(item))
          if (cursor === null && page.left_out.length > 0)
            cli.note(`Left out because you lack the permission: ${page.left_out.join(', ')}.`)
          cursor = page.next_cursor
        } while (cursor !== null)
      }),
    'ops export --kind inventory > inventory.ndjson',
    'ops export --kind configuration | jq -c \'select(.type == "gateway_pool")\'',
  )
}
