import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { printFacets } from '../facets.ts'
import { choice, examples, limit, reason, sort, sortsOf } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'
import { jsonText } from '../text.ts'
import { addDeviceBatch } from './device-batch.ts'
import { type Filter, filtered, filterOf } from './device-filter.ts'
import { addDevicePosture } from './device-posture.ts'
import { addDeviceEnroll } from './enroll.ts'

type Device = Output<Contract['getDevice']>
const columns: readonly Column<Device>[] = [
  ['DEVICE', (d) => d.device_id],
  ['NAME', (d) => d.name],
  ['USER', (d) => d.user_name],
  ['PLATFORM', (d) => d.platform],
  ['STATUS', (d) => d.effective_status],
  ['POSTURE', (d) => d.posture.verdict],
  ['ADDRESS', (d) => d.addresses.ipv4 ?? d.addresses.ipv6],
  ['CLIENT', (d) => d.client_version],
  ['PRESENCE', (d) => d.presence],
  ['GATEWAY', (d) => d.session?.gateway_name],
  ['LAST SEEN', (d) => d.last_seen_at],
]

const sorts = sortsOf('enrolled_at', 'name', 'last_seen_at', 'client_version')

const operations = {
  approve: 'Approve pending devices',
  suspend: 'Suspend devices\n\nA suspended device has no access until you reactivate it.',
  reactivate: 'Reactivate suspended devices',
} as const

export function addDevice(program: Command, cli: Cli): void {
  const device = program.command('device').description('Manage devices')
  addDeviceEnroll(device, cli)
  examples(
    sort(filtered(limit(device.command('list').description('List devices'))), sorts).action(
      async ({ limit: most, ...options }: Filter & { limit: number; sort?: (typeof sorts)[number] }) => {
        const client = await cli.client()
        const query = { ...filterOf(options), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listDevices({ query: { ...query, ...page } }))
      },
    ),
    'device list --status pending',
    'device list --posture non_compliant',
    'device list --unseen-for 30d --sort last_seen_at',
    'device list --client-version-before 2.0.0 --presence online',
    'device list --effective-status user_suspended',
    'device list --json --limit 10000 | jq -r .device_id',
  )
  examples(
    filtered(device.command('facets').description('Count devices for each value of each filter')).action(
      async (options: Filter) =>
        printFacets(
          cli,
          await (await cli.client()).listDeviceFacets({ query: { ...filterOf(options), ...cli.scope } }),
        ),
    ),
    'device facets',
    'device facets --posture non_compliant',
  )
  examples(device.command('show <device>'), 'device show anna-laptop')
    .description('Show a device')
    .action(async (device_id: string) =>
      printItem(cli, await (await cli.client()).getDevice({ params: { device_id }, query: cli.scope })),
    )
  examples(
    reason(
      device.command('update <device>').description('Change a device\n\nOptions that you leave out do not change.'),
    )
      .option('--name <name>', 'new name')
      .option('--tag <tag...>', 'tags that replace the present ones')
      .option('--no-tag', 'remove all tags')
      .addOption(choice('--channel <channel>', 'policy channel of the device', ['auto', 'canary', 'stable']))
      .option('--user <user>', 'user that owns the device')
      .option('--no-user', 'remove the owner')
      .action((device_id: string, options: Update) => update(cli, device_id, options)),
    'device update anna-laptop --channel canary --tag laptop test',
    'device update anna-laptop --no-user',
  )
  for (const [operation, description] of Object.entries(operations) as [keyof typeof operations, string][])
    reason(
      examples(device.command(`${operation} <device...>`), `device ${operation} anna-laptop`).description(description),
    ).action((ids: string[], options: { reason?: string }) => change(cli, operation, ids, options.reason))
  examples(
    reason(
      device
        .command('revoke <device...>')
        .description(
          'Revoke devices for good\n\nA revoked device cannot be reactivated. Its owner must enroll it again.',
        ),
    )
      .option('--yes', 'skip the confirmation prompt')
      .action(async (ids: string[], options: { reason?: string; yes?: boolean }) => {
        await cli.sure(options.yes, `Revocation is final. Revoke ${ids.join(', ')}?`)
        await change(cli, 'revoke', ids, options.reason)
      }),
    'device revoke anna-laptop --reason stolen',
  )
  addDevicePosture(device, cli)
  addDeviceBatch(device, cli)
}

type Update = {
  name?: string
  tag?: string[] | false
  channel?: Device['channel']
  user?: string | false
  reason?: string
}

async function update(cli: Cli, device_id: string, { name, tag, channel, user, reason: why }: Update): Promise<void> {
  const fields = given({ name, channel, tags: tag === false ? [] : tag, user_id: user === false ? null : user })
  if (Object.keys(fields).length === 0) throw new UsageError('Nothing to change; see: holdfast device update --help')
  const body = { operation: 'update', device_id, device: fields, ...given({ reason: why }) } as const
  const answer = await (await cli.client()).changeDevice({ body, query: cli.scope })
  if (!answer.changed) cli.note('No change.')
  printItem(cli, answer.device)
}

type Operation = keyof typeof operations | 'revoke'

async function change(cli: Cli, operation: Operation, ids: string[], why: string | undefined): Promise<void> {
  const client = await cli.client()
  for (const device_id of ids) {
    const body = { operation, device_id, ...given({ reason: why }) }
    const { changed, device } = await client.changeDevice({ body, query: cli.scope })
    cli.say(
      cli.json ? jsonText(device) : `${device.device_id}  ${device.effective_status}${changed ? '' : '  (unchanged)'}`,
    )
  }
}
