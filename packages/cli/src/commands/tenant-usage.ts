import type { Contract, Output } from '@holdfast/contract'
import { usageSteps } from '@holdfast/contract/entitlement'
import { countedMetrics, type EntitlementMetric, entitlementMetrics } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { limitText } from '../limits.ts'
import { choice, examples, parseMoment } from '../options.ts'
import { type Column, printAll, printItem } from '../output.ts'
import { bytesText, countText } from '../text.ts'

type Entitlement = Output<Contract['getEntitlement']>
type Metric = Output<Contract['getEntitlementStatus']>['metrics'][number]
type Alert = Output<Contract['listEntitlementAlerts']>['items'][number]
type Usage = Output<Contract['getUsage']>
type Step = Usage['series'][number]

const limitColumns = ({ limits, sources }: Entitlement): readonly Column<EntitlementMetric>[] => [
  ['METRIC', (m) => m],
  ['LIMIT', (m) => limitText(limits[m])],
  ['SET BY', (m) => (sources[m] === 'none' ? null : sources[m])],
]
const statusColumns: readonly Column<Metric>[] = [
  ['METRIC', (m) => m.metric],
  ['USED', (m) => m.used],
  ['LIMIT', (m) => limitText(m.limit)],
  ['REMAINING', (m) => m.remaining],
  ['PERCENT', (m) => m.percent],
  ['STATE', (m) => m.state],
]
const alertColumns: readonly Column<Alert>[] = [
  ['METRIC', (a) => a.metric],
  ['LEVEL', (a) => a.level],
  ['SINCE', (a) => a.since],
  ['DETAILS', (a) => a.detail],
]
const stepColumns = (step: Usage['step']): readonly Column<Step>[] => [
  ['AT', ({ at }) => (step === 'day' ? at.slice(0, 10) : at)],
  ['RX', (s) => bytesText(s.rx_bytes)],
  ['TX', (s) => bytesText(s.tx_bytes)],
  ['STARTED', (s) => s.sessions_started],
  ...countedMetrics.map((m): Column<Step> => [`PEAK ${m.replace('_', ' ').toUpperCase()}`, (s) => s.peak[m]]),
]
const forecastColumns: readonly Column<Usage['forecast'][number]>[] = [
  ['METRIC', (f) => f.metric],
  ['USED', (f) => f.used],
  ['LIMIT', (f) => f.limit],
  ['PER DAY', (f) => f.per_day],
  ['REACHES LIMIT', (f) => f.reaches_limit_at],
]

/** Adds commands to `holdfast tenant`: its limits and its usage. */
export function addTenantUsage(tenant: Command, cli: Cli): void {
  examples(about(tenant, 'entitlement'), 'tenant entitlement acme')
    .description(
      'Show the limits of a tenant and their sources\n\nThe source of a limit is the license, the plan or the tenant.',
    )
    .action(async (name: string | undefined) => {
      const client = await cli.client()
      const found = await client.getEntitlement(await asked(name))
      if (cli.json) return printItem(cli, found)
      const { limits, sources, ...rest } = found
      printItem(cli, rest)
      await printAll(cli, limitColumns(found), entitlementMetrics)
    })
  examples(about(tenant, 'status'), 'tenant status', 'tenant status acme --json | jq .blocked')
    .description('Show the usage of each limit of a tenant')
    .action(async (name: string | undefined) => {
      const client = await cli.client()
      const found = await client.getEntitlementStatus(await asked(name))
      if (cli.json) return printItem(cli, found)
      await printAll(cli, statusColumns, found.metrics)
      if (found.license_state !== 'active') cli.note(`State of the license: ${found.license_state}.`)
      if (found.blocked.length > 0)
        cli.note(`A limit is reached. Nothing can be added to: ${found.blocked.join(', ')}.`)
    })
  examples(about(tenant, 'alerts'), 'tenant alerts acme')
    .description(
      'Show the limits that a tenant approaches or exceeds\n\nIt shows limits that are used to 80 % or more.',
    )
    .action(async (name: string | undefined) => {
      const client = await cli.client()
      const { items } = await client.listEntitlementAlerts(await asked(name))
      if (items.length === 0 && !cli.json) return cli.note('Nothing is near its limit.')
      await printAll(cli, alertColumns, items)
    })
  examples(
    about(tenant, 'usage')
      .description('Show the usage of a tenant over time\n\nTimes are in UTC. It includes a forecast for the limits.')
      .option('--from <time>', 'start: a time, or a duration before now, e.g. 24h; default: 30d', parseMoment)
      .option('--to <time>', 'end: a time, or a duration before now, e.g. 2h; default: now', parseMoment)
      .addOption(choice('--step <step>', 'period of each line; default: day', usageSteps))
      .action(async (name: string | undefined, options: Span) => {
        const { params, query } = await asked(name)
        const client = await cli.client()
        const found = await client.getUsage({ params, query: { ...given(options), ...query } })
        if (cli.json) printItem(cli, found)
        else await printUsage(cli, found)
      }),
    'tenant usage acme --from 7d',
    'tenant usage --from 24h --step hour --json | jq .totals',
  )

  /** Default: the tenant of --tenant, else the caller's own. */
  async function asked(name: string | undefined) {
    const tenant_id = name ?? cli.scope.tenant_id ?? (await (await cli.client()).me()).tenant_id
    return { params: { tenant_id }, query: cli.scope }
  }
}

const about = (tenant: Command, name: string): Command =>
  tenant.command(name).argument('[tenant]', 'tenant; default: your own')

type Span = { from?: string; to?: string; step?: Usage['step'] }

async function printUsage(cli: Cli, { step, from, to, series, totals, forecast }: Usage): Promise<void> {
  await printAll(cli, stepColumns(step), series)
  const { rx_bytes, tx_bytes, sessions_started } = totals
  const carried = `${bytesText(rx_bytes)} received, ${bytesText(tx_bytes)} sent`
  cli.say(`${from} to ${to}: ${carried}, ${countText(sessions_started, 'session', 'started')}`)
  if (forecast.length > 0) await printAll(cli, forecastColumns, forecast)
  else cli.note('The tenant has no limits.')
}
