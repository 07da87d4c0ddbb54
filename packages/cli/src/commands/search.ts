import type { Contract, Output } from '@holdfast/contract'
import { searchKinds } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, integer } from '../options.ts'
import { type Column, printAll, printItem } from '../output.ts'

type Hit = Output<Contract['search']>['items'][number]
const columns: readonly Column<Hit>[] = [
  ['KIND', (hit) => hit.kind],
  ['NAME', (hit) => hit.name],
  ['DETAIL', (hit) => hit.detail],
  ['STATUS', (hit) => hit.status],
  ['ID', (hit) => hit.id],
]

export function addSearch(program: Command, cli: Cli): void {
  examples(
    program
      .command('search <text>')
      .description('Search objects of all kinds by name\n\nIt finds names with a word that begins with the text.')
      .addOption(choice('--kind <kind...>', 'only objects of these kinds', searchKinds))
      .option('--limit <n>', 'maximum number of results of each kind', integer(1, 20), 8)
      .action(async (q: string, { kind, limit }: { kind?: string[]; limit: number }) => {
        const query = { q, limit, ...given({ kinds: kind?.join(',') }), ...cli.scope }
        const found = await (await cli.client()).search({ query })
        if (cli.json) return printItem(cli, found)
        await printAll(cli, columns, found.items)
        if (found.more.length > 0) cli.note(`There are more of: ${found.more.join(', ')}.`)
      }),
    'search laptop',
    'search "jane doe" --kind user device',
    'search 100.64.0.7',
  )
}
