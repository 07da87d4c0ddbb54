import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../options.ts'
import { type Column, printAll } from '../output.ts'
import { jsonText } from '../text.ts'

type Key = Output<Contract['listMasterKeys']>['items'][number]
const columns: readonly Column<Key>[] = [
  ['KEY', (k) => k.key_id],
  ['LINE', (k) => k.line],
  ['READING', (k) => k.reading],
  ['WRITING', (k) => k.writing],
  ['SEALED', (k) => k.sealed],
  ['DIGESTS', (k) => k.digests],
  ['COUNTED', (k) => k.counted_at],
  ['STATE', stateOf],
]

export function addMasterKey(program: Command, cli: Cli): void {
  const masterKey = program.command('master-key').description('Inspect the master keys of the deployment')
  examples(masterKey.command('status'), 'master-key status', 'master-key status --json')
    .description(
      'Show the state of each master key\n\nIt shows the number of secrets under each key, the replicas that use it, and keys that may be removed.',
    )
    .action(async () => {
      const found = await (await cli.client()).listMasterKeys({ query: cli.scope })
      if (cli.json) return cli.say(jsonText(found, 2))
      cli.note(`Running replicas: ${found.replicas}.`)
      await printAll(cli, columns, found.items)
    })
}

function stateOf({ line, needed, unused_since, removable, writing }: Key): string {
  if (writing > 0) return 'in use'
  if (needed) return 'needed'
  if (line === null) return 'removed'
  if (unused_since !== null && !removable) return 'unused; removable soon'
  return unused_since === null ? 'not used yet' : 'may be removed'
}
