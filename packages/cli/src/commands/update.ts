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
  const update = program.command('update').description('the update repository (TUF) and its root')
  examples(
    update
      .command('status')
      .description('which metadata are in force, and whether a next root is due; with --json the root whole')
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
      .description('what is offered to a device, and what it would be told of it')
      .addOption(choice('--platform <platform>', 'instead of its own', packagePlatforms))
      .addOption(choice('--arch <arch>', 'instead of what it gave', packageArchitectures))
      .option('--installed <version>', 'instead of the version that it gave')
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
      .description('a file of the repository as it was signed, such as timestamp.json or 1.root.json')
      .action(async (file: string) => {
        const client = await cli.client()
        cli.say(jsonText(await client.tufMetadata({ params: { file }, query: cli.scope }), 2))
      }),
    'update metadata 1.root.json > root.json',
  )
  addUpdateRoot(update, cli)
}
