import type { Contract, Output } from '@holdfast/contract'
import { channels } from '@holdfast/contract/devices'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, parseMoment } from '../options.ts'
import { type Column, printAll, printItem } from '../output.ts'
import { plain } from '../text.ts'
import { readDocument } from './policy-document.ts'

type Found = Output<Contract['whoReaches']>
type Adoption = Output<Contract['getPolicyAdoption']>
type Impact = Output<Contract['simulatePolicy']>['impact']
type Options = { channel?: (typeof channels)[number]; document?: string; at?: string }

const deviceColumns: readonly Column<Found['devices'][number]>[] = [
  ['DEVICE', (d) => d.device_name ?? d.device_id],
  ['USER', (d) => d.username],
  ['CHANNEL', (d) => d.channel],
  ['RULE', (d) => d.rule_id],
]
const userColumns: readonly Column<Found['users'][number]>[] = [
  ['USER', (u) => u.username ?? u.user_id],
  ['DEVICES', (u) => u.devices],
  ['RULES', (u) => u.rule_ids],
]
const groupColumns: readonly Column<Found['groups'][number]>[] = [
  ['GROUP', (g) => g.name ?? g.group_id],
  ['USERS', (g) => g.users],
  ['DEVICES', (g) => `${g.devices} of ${g.devices_examined}`],
  ['RULES', (g) => g.rule_ids],
]
const share = ({ applied, pending }: { applied: number; pending: number }) => `${applied}/${applied + pending}`
const pointColumns: readonly Column<Adoption['points'][number]>[] = [
  ['AT', (p) => p.at],
  ['DEVICES', (p) => share(p.devices)],
  ['GATEWAYS', (p) => share(p.gateways)],
]

/** Commands for the reach of a policy: users and devices that reach a target, and its adoption over time. */
export function addPolicyReach(policy: Command, cli: Cli): void {
  examples(
    policy
      .command('who-reaches <target>')
      .description(
        'Show the users, groups and devices that reach a target\n\nA target is a resource or an address, e.g. wiki, wiki:tcp/443 or 10.1.2.3:tcp/22.',
      )
      .addOption(choice('--channel <channel>', 'channel whose policy decides', channels).conflicts('document'))
      .option('--document <file>', 'file with the policy document that decides (JSON; - is stdin)')
      .option('--at <time>', 'time of the decision; default: now', parseMoment)
      .action((target: string, options: Options) => whoReaches(cli, target, options)),
    'policy who-reaches wiki:tcp/443',
    'policy who-reaches 10.1.2.3:tcp/22 --document policy.json',
  )
  examples(
    policy
      .command('adoption <bundle>')
      .description('Show the adoption of a policy version over time')
      .action(async (bundle_id: string) => {
        const found = await (await cli.client()).getPolicyAdoption({ params: { bundle_id }, query: cli.scope })
        if (cli.json) return printItem(cli, found)
        await printAll(cli, pointColumns, found.points)
        printItem(cli, { devices: timesText(found.devices), gateways: timesText(found.gateways) })
      }),
    'policy adoption 12',
  )
}

const timesText = (times: Adoption['devices']): string =>
  [50, 90, 99]
    .map((percent) => {
      const seconds = times[`time_to_${percent as 50 | 90 | 99}`]
      return `${percent} % ${seconds === null ? 'not reached' : `after ${seconds} s`}`
    })
    .join(', ')

async function whoReaches(cli: Cli, target: string, { channel, document, at }: Options): Promise<void> {
  const policy = document === undefined ? undefined : await readDocument(cli, document)
  const body = { target, ...given({ channel, policy, at }) }
  const found = await (await cli.client()).whoReaches({ body, query: cli.scope })
  if (cli.json) return printItem(cli, found)
  const { users, groups, devices } = found.counts
  cli.say(
    cli.strong(
      plain(`${devices} of ${found.devices_examined} devices reach ${target}: ${users} users, ${groups} groups`),
    ),
  )
  for (const rule of found.rules) cli.say(plain(`rule ${rule.rule_id}: ${rule.devices} devices`))
  if (devices === 0) return
  await printAll(cli, groupColumns, found.groups)
  await printAll(cli, userColumns, found.users)
  await printAll(cli, deviceColumns, found.devices)
}

/**
 * Prints the users and groups that gain or lose access in a simulation, one line each. A server of an earlier version
 * does not list them.
 */
export function printParties(cli: Cli, { gains, loses }: Partial<Pick<Impact, 'gains' | 'loses'>>): void {
  for (const [verb, side] of [
    ['gains', gains],
    ['loses', loses],
  ] as const) {
    if (!side || side.devices === 0) continue
    const users = side.first_users.map((u) => u.username ?? u.user_id)
    const groups = side.first_groups.map((g) => g.name ?? g.group_id)
    cli.say(plain(`access ${verb}: ${side.devices} devices, ${side.users} users, ${side.groups} groups`))
    if (users.length > 0) cli.say(plain(`  users: ${users.join(', ')}`))
    if (groups.length > 0) cli.say(plain(`  groups: ${groups.join(', ')}`))
  }
}
