import type { Contract, Output } from '@holdfast/contract'
import { usageSteps } from '@holdfast/contract/entitlement'
import { startSteps } from '@holdfast/contract/vocabulary'
import { Argument, type Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, integer, parseMoment } from '../options.ts'
import { type Column, printAll, printItem } from '../output.ts'
import { bytesText } from '../text.ts'

type Metrics = Output<Contract['readMetrics']>
type Asked = Partial<Pick<Metrics, 'from' | 'to' | 'step'>>

const columns = (step: Metrics['step']): readonly Column<Metrics['series'][number]>[] => [
  ['AT', ({ at }) => (step === 'day' ? at.slice(0, 10) : at)],
  ['RX', (s) => bytesText(s.rx_bytes)],
  ['TX', (s) => bytesText(s.tx_bytes)],
  ['SESSIONS', (s) => s.sessions],
  ['STARTED', (s) => s.sessions_started],
  ['ENROLLED', (s) => s.enrollments],
  ['FAILED SIGN-INS', (s) => s.logins_failed],
  ['REFUSED', (s) => s.refused],
]

const devicesColumn: Column<{ devices: number }> = ['DEVICES', (counted) => counted.devices]
const dayColumns: readonly Column<Output<Contract['readFleetMetrics']>['days'][number]>[] = [
  ['DAY', (d) => d.at.slice(0, 10)],
  ['DEVICES', (d) => d.devices],
  ['BY PLATFORM', (d) => d.platforms.map((p) => `${p.platform} ${p.devices}`).join(', ')],
]

type Adoption = { applied: number; pending: number }
const share = ({ applied, pending }: Adoption) => `${applied} of ${applied + pending}`

export function addStatus(program: Command, cli: Cli): void {
  const status = program.command('status').description('Show the state of the fleet')
  examples(status.command('show', { isDefault: true }), 'status show', 'status show --json')
    .description(
      'Show the state of the fleet now\n\nIt covers devices, users, gateways, sessions, policy, alerts and expiring items.',
    )
    .action(async () => {
      const client = await cli.client()
      const overview = await client.dashboardOverview({ query: cli.scope })
      if (cli.json) return printItem(cli, overview)
      const { policy, usage, expiring, series: _, ...counts } = overview
      const { soonest, ...ending } = expiring
      printItem(cli, {
        ...counts,
        policy: Object.fromEntries(
          policy.map(({ channel, version, devices, gateways }) => [
            channel,
            `version ${version}, applied by ${share(devices)} devices and ${share(gateways)} gateways`,
          ]),
        ),
        expiring: { ...ending, soonest: soonest.map((e) => `${e.expires_at} ${e.type} ${e.name}`).join('; ') || null },
        usage: Object.fromEntries(usage.map((u) => [u.metric, u.limit === null ? u.used : `${u.used} of ${u.limit}`])),
      })
    })
  examples(status.command('series'), 'status series', 'status series --step hour --from 2026-11-01T00:00:00Z')
    .description(
      'Show the activity of the fleet over time\n\nIt shows traffic, sessions, enrollments and refusals by hour or day (UTC).',
    )
    .option(
      '--from <time>',
      'start: a time, or a duration before now, e.g. 24h; default: 30 days before the end',
      parseMoment,
    )
    .option('--to <time>', 'end: a time, or a duration before now, e.g. 2h; default: now', parseMoment)
    .addOption(choice('--step <step>', 'period of each line; default: day', usageSteps))
    .action(async (asked: Asked) => {
      const client = await cli.client()
      const found = await client.readMetrics({ query: { ...given(asked), ...cli.scope } })
      if (cli.json) printItem(cli, found)
      else await printAll(cli, columns(found.step), found.series)
    })
  examples(status.command('fleet'), 'status fleet', 'status fleet --days 7 --json')
    .description(
      'Count devices by platform, client and system\n\nIt counts them by platform, client version and operating system: now, and by platform for each day.',
    )
    .option('--days <n>', 'number of days; default: 30', integer(0, 30))
    .action(async ({ days }: { days?: number }) => {
      const client = await cli.client()
      const found = await client.readFleetMetrics({ query: { ...given({ days }), ...cli.scope } })
      if (cli.json) return printItem(cli, found)
      cli.say(cli.strong(`${found.devices} devices`))
      if (found.devices === 0 && found.days.length === 0) return
      await printAll(cli, [['PLATFORM', (p) => p.platform], devicesColumn], found.platforms)
      await printAll(cli, [['CLIENT', (v) => v.client_version], devicesColumn], found.client_versions)
      await printAll(
        cli,
        [['OS', (v) => `${v.platform} ${v.os_version ?? ''}`.trim()], devicesColumn],
        found.os_versions,
      )
      await printAll(cli, dayColumns, found.days)
    })
  addStart(status, cli)
}

type Step = Output<Contract['getStart']>['steps'][number]
const stepColumns: readonly Column<Step>[] = [
  ['STEP', (s) => s.step],
  ['DONE', (s) => (s.done ? 'yes' : s.dismissed ? 'dismissed' : 'no')],
  ['SINCE', (s) => s.since],
]

function addStart(status: Command, cli: Cli): void {
  examples(status.command('start'), 'status start')
    .description('Show the setup steps of the tenant')
    .action(async () => {
      const start = await (await cli.client()).getStart({ query: cli.scope })
      if (cli.json) printItem(cli, start)
      else await printAll(cli, stepColumns, start.steps)
    })
  examples(
    status
      .command('dismiss')
      .addArgument(new Argument('<step>', 'step of the setup').choices(startSteps))
      .option('--undo', 'put the step back on the list'),
    'status dismiss audit_forwarding',
  )
    .description('Remove a step from the setup list')
    .action(async (step: Step['step'], { undo = false }: { undo?: boolean }) => {
      const client = await cli.client()
      const answer = await client.dismissStartStep({ query: cli.scope, body: { step, dismissed: !undo } })
      if (!answer.changed) cli.note('No change.')
      printItem(cli, answer.step)
    })
}
