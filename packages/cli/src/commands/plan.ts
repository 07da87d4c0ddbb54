import type { Contract, Output } from '@holdfast/contract'
import type { Limits } from '@holdfast/contract/entitlement-limits'
import { changePlan } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { limiting } from '../limits.ts'
import { examples, limit } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'

type Plan = Output<Contract['getPlan']>
const columns: readonly Column<Plan>[] = [
  ['PLAN', (p) => p.plan_id],
  ['NAME', (p) => p.name],
  ['TENANTS', (p) => p.tenants],
  ['LIMITS', (p) => Object.entries(p.limits).map(([metric, most]) => `${metric}=${most}`)],
  ['FEATURES', (p) => p.features],
]

export function addPlan(program: Command, cli: Cli): void {
  const plan = program
    .command('plan')
    .description('Manage plans\n\nA plan holds limits and features that many tenants share.')
  limit(examples(plan.command('list'), 'plan list').description('List plans')).action(
    async ({ limit: most }: { limit: number }) => {
      const client = await cli.client()
      await printList(cli, most, columns, (page) => client.listPlans({ query: { ...page, ...cli.scope } }))
    },
  )
  examples(plan.command('show <plan>'), 'plan show team')
    .description('Show a plan')
    .action(async (plan_id: string) =>
      printItem(cli, await (await cli.client()).getPlan({ params: { plan_id }, query: cli.scope })),
    )
  examples(
    limiting(plan.command('create <name>').description('Create a plan\n\nA limit that you leave out is unlimited.'))
      .option('--feature <name...>', 'features that tenants with the plan may use')
      .action(async (name: string, { limit: limits = {}, feature: features = [] }: Settings) => {
        const client = await cli.client()
        printItem(cli, await client.createPlan({ body: { name, limits, features }, query: cli.scope }))
      }),
    'plan create team --limit users=50 devices=100 bandwidth_gb_month=1000 --feature siem',
  )
  examples(
    limiting(
      plan
        .command('update <plan>')
        .description(
          'Change a plan\n\nThe change applies to every tenant with the plan. Existing objects stay, even above a limit.',
        ),
    )
      .option('--name <name>', 'new name')
      .option('--feature <name...>', 'features that replace the present ones')
      .option('--no-feature', 'remove all features')
      .action((plan_id: string, options: Update) => update(cli, plan_id, options)),
    'plan update team --limit users=80 devices=',
    'plan update team --name business --feature siem scim',
  )
  examples(
    plan
      .command('delete <plan>')
      .description('Delete a plan\n\nNo tenant may have the plan.')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (plan_id: string, { yes }: { yes?: boolean }) => {
        await cli.sure(yes, `Delete ${plan_id}?`)
        const { changed } = await (await cli.client()).deletePlan({ params: { plan_id }, query: cli.scope })
        if (cli.json) printItem(cli, { plan_id, changed })
        else cli.say(`${plan_id}  deleted${changed ? '' : '  (unchanged)'}`)
      }),
    'plan delete team --yes',
  )
}

type Settings = { limit?: Limits; feature?: string[] }
type Update = { name?: string; limit?: Limits; feature?: string[] | false }

async function update(cli: Cli, plan_id: string, { name, limit: limits, feature }: Update): Promise<void> {
  const named = given({ name, limits, features: feature === false ? [] : feature })
  if (Object.keys(named).length === 0) throw new UsageError('Nothing to change; see: holdfast plan update --help')
  const client = await cli.client()
  printItem(cli, await changePlan(client, { params: { plan_id }, query: cli.scope }, named))
}
