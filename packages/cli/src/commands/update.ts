import type { Contract, Input } from '@holdfast/contract'
import { packageArchitectures, packagePlatforms } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples } from '../options.ts'
import { printItem } from '../output.ts'
import { jsonText } from '../text.ts'
import { addUpdateRoot } from './update-root.ts'

type Question = Pick<NonNullable<Input<Contract['updateManifest']>['query']>, 'platform' | 'arch'> & {
  installed?: string
}

/** Commands for the TUF repository, by which devices verify downloads. */
export function addUpdate(program: Command, cli: Cli): void {
  const update = program.command('update').description('Manage the update repository (TUF) and its root')
  examples(
    update
      .command('status')
      .description(
        'Show the metadata in force\n\nIt shows whether a new root is needed. With --json, it prints the whole root.',
      )
      .action(async () => {
        const status = await (await cli.client()).tufStatus({ query: cli.scope })
        if (cli.json) return cli.say(jsonText(status, 2))
        const { root, online_keys: _, ...others } = status
        const { threshold, keyids } = root.signed.roles.root
        printItem(cli, { root_version: root.signed.version, threshold, keyids, ...others })
      }),
    'update status',
    'update status --json',
  )
  examples(
    update
      .command('offered <device>')
      .description('Show the updates that a device is offered')
      .addOption(choice('--platform <platform>', 'platform, instead of that of the device', packagePlatforms))
      .addOption(choice('--arch <arch>', 'architecture, instead of the reported one', packageArchitectures))
      .option('--installed <version>', 'client version, instead of the reported one')
      .action(async (device_id: string, { platform, arch, installed: version }: Question) => {
        const query = { device_id, ...given({ platform, arch, version }), ...cli.scope }
        const { signature: _, ...manifest } = await (await cli.client()).updateManifest({ query })
        printItem(cli, manifest)
      }),
    'update offered annas-laptop',
    'update offered annas-laptop --platform linux --arch x64 --installed 1.3.2',
  )
  examples(
    update
      .command('metadata <file>')
      .description('Print a signed file of the repository\n\nFor example timestamp.json or 1.root.json.')
      .action(async (file: string) => {
        const client = await cli.client()
        cli.say(jsonText(await client.tufMetadata({ params: { file }, query: cli.scope }), 2))
      }),
    'update metadata 1.root.json > root.json',
  )
  addUpdateRoot(update, cli)
}
