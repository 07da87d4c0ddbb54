import type { Contract, Input, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { examples, percentage, reason } from '../options.ts'
import { printItem } from '../output.ts'

type Operation = Input<Contract['changeRelease']>['body']['operation']
type Given = { percent?: number; group?: string[]; reason?: string }

const reaching = (command: Command): Command =>
  command
    .option(
      '--percent <n>',
      'percentage of the devices; default: unchanged (100 for a new draft), or 0 with --group alone',
      percentage,
    )
    .option(
      '--group <group...>',
      'groups whose devices all get the release, in addition to the percentage; replaces earlier groups',
    )

/** Adds commands to `holdfast release`: its state, and the devices that it is offered to. */
export function addReleaseMoves(release: Command, cli: Cli): void {
  const move = (operation: Operation) => (release_id: string, options: Given) =>
    change(cli, release_id, operation, options)
  examples(
    reaching(
      release
        .command('publish <release>')
        .description('Publish a draft to devices\n\nIts packages cannot be changed after that.'),
    ),
    'release publish 1.4.0 --percent 10',
    'release publish 1.4.0 --percent 0 --group testers',
  ).action(move('publish'))
  examples(
    reason(
      release
        .command('pause <release>')
        .description('Pause a release\n\nThe server stops offering it. Running downloads may finish.'),
    ),
    'release pause 1.4.0 --reason "slow starts"',
  ).action(move('pause'))
  examples(
    release
      .command('resume <release>')
      .description('Resume a paused release\n\nThe server offers it to the same devices again.'),
    'release resume 1.4.0',
  ).action(move('resume'))
  examples(
    release
      .command('halt <release>')
      .description('Halt a release for good\n\nNo device is offered the release or can download it any more.')
      .requiredOption('--reason <text>', 'reason, sent to administrators in a notification')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (release_id: string, { yes, ...options }: Given & { yes?: boolean }) => {
        await cli.sure(yes, `Halt ${release_id} for good?`)
        await change(cli, release_id, 'halt', options)
      }),
    'release halt 1.4.0 --reason "loses its settings" --yes',
  )
  examples(
    reason(
      release
        .command('withdraw <release>')
        .description(
          'Withdraw a release for good\n\nUse it when a better release exists. The server stops offering the release.',
        ),
    ),
    'release withdraw 1.3.0',
  ).action(move('withdraw'))
  examples(
    reaching(
      release
        .command('promote <release>')
        .description('Move a release from canary to stable\n\nCanary devices keep it.'),
    ),
    'release promote 1.4.0 --percent 10',
  ).action(move('promote'))
  examples(
    release
      .command('rollout <release> <percent>')
      .description('Set the percentage of devices that get a release\n\nA higher percentage only adds devices.')
      .option(
        '--group <group...>',
        'groups whose devices all get the release, in addition to the percentage; replaces earlier groups',
      )
      .action((release_id: string, percent: string, options: Given) =>
        change(cli, release_id, 'roll_out', { ...options, percent: percentage(percent) }),
      ),
    'release rollout 1.4.0 50',
    'release rollout 1.4.0 5 --group testers',
  )
}

async function change(cli: Cli, release_id: string, operation: Operation, options: Given): Promise<void> {
  const { percent, group: group_ids } = options
  const isNamed = percent !== undefined || group_ids !== undefined
  const rollout = isNamed ? { percent: percent ?? 0, group_ids: group_ids ?? [] } : undefined
  const body = { operation, ...given({ rollout, reason: options.reason }) }
  const { changed, release }: Output<Contract['changeRelease']> = await (await cli.client()).changeRelease({
    params: { release_id },
    body,
    query: cli.scope,
  })
  printItem(cli, release)
  if (!changed) cli.note('No change.')
}
